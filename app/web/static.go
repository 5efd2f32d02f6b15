package web

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed page
var pageFiles embed.FS

// asset is a file of the page as it is served.
type asset struct {
	data []byte
	tag  string // ETag
}

var assets = sync.OnceValue(func() map[string]asset {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err)
	}
	all := make(map[string]asset, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		data = slim(name, data)
		sum := sha256.Sum256(data)
		all[name] = asset{data: data, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return all
})

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

// static serves the files of the page, and the one named first at "/". They have
// no secrets: anybody who can reach the port may read them.
func static(first string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), first)
		file, ok := assets()[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", file.tag)
		w.Header().Set("Cache-Control", "no-cache")
		if r.Header.Get("If-None-Match") == file.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		kind := mime.TypeByExtension(path.Ext(name))
		switch path.Ext(name) { // the system's types may be wrong
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		case ".html":
			kind = "text/html; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
		w.Write(file.data)
	})
}
