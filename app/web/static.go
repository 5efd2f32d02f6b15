package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed page
var pageFiles embed.FS

// sources returns the files of the page, slimmed.
var sources = sync.OnceValue(func() map[string][]byte {
	names, err := fs.Glob(pageFiles, "page/*")
	if err != nil {
		panic(err) // the pattern is constant
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		data, err := pageFiles.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		all[path.Base(name)] = slim(name, data)
	}
	return all
})

// The documents of the host's page, of that page on one server, and of a
// gateway's page. A test builds them, so
// that they do not fail here.
var (
	hostDocument    = sync.OnceValue(func() *document { return must(newDocument(sources(), "index.html")) })
	serverDocument  = sync.OnceValue(func() *document { return hostDocument().elsewhere() })
	gatewayDocument = sync.OnceValue(func() *document { return must(newDocument(sources(), "gateway.html")) })
)

func must(d *document, err error) *document {
	if err != nil {
		panic(err)
	}
	return d
}

// slim removes what browsers do not need from a script or style: indentation,
// comments, and in a style the spaces around punctuation. Lines stay, so that the
// browser reports the line numbers of the source. No string of a script and no
// comment of a style spans several lines.
func slim(name string, data []byte) []byte {
	var shorten func(string) string
	switch path.Ext(name) {
	case ".js":
		shorten = slimScript
	case ".css":
		shorten = slimStyle
	default:
		return data
	}
	lines := strings.Split(string(data), "\n")
	for n, line := range lines {
		lines[n] = shorten(strings.TrimSpace(line))
	}
	return []byte(strings.Join(lines, "\n"))
}

// slimScript removes the comment of a line: "//" outside of a string, with a space
// on both sides or at the start of the line. Slashes of a regular expression have
// none.
func slimScript(line string) string {
	if strings.HasPrefix(line, "//") {
		return ""
	}
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == ' ' && strings.HasPrefix(line[i:], " // "):
			return strings.TrimSpace(line[:i])
		}
	}
	return line
}

// stylePart is a string or comment of a style, or punctuation with the spaces
// around it. The space before a colon stays: in a selector it has a meaning.
var stylePart = regexp.MustCompile(`"[^"]*"|\s*/\*.*?\*/|:\s+|\s*;\s*}\s*|\s*[{};,>]\s*`)

func slimStyle(line string) string {
	return stylePart.ReplaceAllStringFunc(line, func(part string) string {
		switch {
		case part[0] == '"':
			return part
		case strings.Contains(part, "/*"):
			return ""
		case strings.HasSuffix(strings.TrimSpace(part), "}"):
			return "}"
		}
		return strings.TrimSpace(part)
	})
}

// static serves a document, its script and its icon. They have no secrets:
// anybody who can reach the port may read them.
func static(doc func() *document) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := doc()
		switch r.URL.Path {
		case "/":
			serveFile(w, r, "text/html; charset=utf-8", "no-cache", d.html)
		case "/" + d.script:
			serveFile(w, r, "text/javascript; charset=utf-8", "max-age=31536000, immutable", d.code)
		case "/mark.svg":
			serveFile(w, r, "image/svg+xml", "no-cache", sources()["mark.svg"])
		default:
			http.NotFound(w, r)
		}
	})
}

func serveFile(w http.ResponseWriter, r *http.Request, kind, cache string, data []byte) {
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", cache)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}
