package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

var (
	moduleImport = regexp.MustCompile(`^import (?:\{ ([\w, ]+) \}|\* as (\w+)) from '\./(\w+)\.js';$`)
	moduleExport = regexp.MustCompile(`^export ((?:async )?function\*?|class|const) (\w+)`)
	importedAs   = regexp.MustCompile(`(\w+) as (\w+)`)
)

// bundle joins a script and the modules that it imports into one module, so that a
// browser asks once instead of once for each. Every module becomes a function that
// returns its exports, in the order in which a browser runs modules, with a line
// for each line of its source. The bundle exports the modules by their names.
//
// It reads the forms of import and export that the page uses, each on a line of
// its own, and reports others, and modules that import each other.
func bundle(files map[string][]byte, entry string) ([]byte, error) {
	var out bytes.Buffer
	var order []string
	state := map[string]int{} // 1: being added, 2: added
	var add func(name string) error
	add = func(name string) error {
		switch state[name] {
		case 1:
			return fmt.Errorf("%s.js imports itself through other modules", name)
		case 2:
			return nil
		}
		data, ok := files[name+".js"]
		if !ok {
			return fmt.Errorf("%s.js does not exist", name)
		}
		state[name] = 1
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		var exports []string
		for n, line := range lines {
			problem := func(text string) error { return fmt.Errorf("%s.js:%d: %s: %s", name, n+1, text, line) }
			switch {
			case strings.HasPrefix(line, "import "):
				m := moduleImport.FindStringSubmatch(line)
				if m == nil {
					return problem("unsupported import")
				}
				if err := add(m[3]); err != nil {
					return err
				}
				if m[2] != "" {
					lines[n] = "const " + m[2] + "=$" + m[3] + ";"
				} else {
					lines[n] = "const {" + importedAs.ReplaceAllString(m[1], "$1:$2") + "}=$" + m[3] + ";"
				}
			case strings.HasPrefix(line, "export "):
				m := moduleExport.FindStringSubmatch(line)
				if m == nil {
					return problem("unsupported export")
				}
				exports = append(exports, m[2])
				lines[n] = strings.TrimPrefix(line, "export ")
			case strings.Contains(line, "import(") || strings.Contains(line, "import."):
				return problem("unsupported import")
			}
		}
		state[name] = 2
		order = append(order, name)
		fmt.Fprintf(&out, "const $%s=(()=>{%s\nreturn {%s};})();\n", name, strings.Join(lines, "\n"), strings.Join(exports, ","))
		return nil
	}
	if err := add(entry); err != nil {
		return nil, err
	}
	out.WriteString("export {")
	for i, name := range order {
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(&out, "$%s as %s", name, name)
	}
	out.WriteString("};\n")
	return out.Bytes(), nil
}

// A document is the HTML of a page with what its first paint needs: its style
// sheets and the script that runs before the paint are part of it. The other
// scripts are one file, whose name has its digest.
type document struct {
	html   []byte
	script string // the name of the file
	code   []byte // of the script
	policy string // the sources that the content security policy allows
}

var (
	styleLink   = regexp.MustCompile(`<link rel="stylesheet" href="(\w+\.css)">\n`)
	headScript  = regexp.MustCompile(`<script src="(\w+\.js)"></script>`)
	entryScript = regexp.MustCompile(`<link rel="modulepreload" href="(\w+)\.js">`)
)

// newDocument builds the document of an HTML file.
func newDocument(files map[string][]byte, name string) (*document, error) {
	html := string(files[name])
	entry := entryScript.FindStringSubmatch(html)
	if entry == nil {
		return nil, fmt.Errorf("%s has no script", name)
	}
	code, err := bundle(files, entry[1])
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(code)
	d := &document{code: code, script: fmt.Sprintf("%s.%s.js", entry[1], hex.EncodeToString(sum[:8]))}
	var style strings.Builder
	links := styleLink.FindAllStringSubmatch(html, -1)
	for _, m := range links {
		style.Write(files[m[1]])
	}
	if style.Len() == 0 {
		return nil, fmt.Errorf("%s has no style", name)
	}
	first := true
	html = styleLink.ReplaceAllStringFunc(html, func(string) string {
		if !first {
			return ""
		}
		first = false
		return "<style>" + style.String() + "</style>\n"
	})
	scripts := "'self'"
	html = headScript.ReplaceAllStringFunc(html, func(tag string) string {
		text := files[headScript.FindStringSubmatch(tag)[1]]
		scripts += " " + sourceHash(text)
		return "<script>" + string(text) + "</script>"
	})
	html = strings.Replace(html, entry[0], `<link rel="modulepreload" href="`+d.script+`">`, 1)
	d.html = []byte(html)
	d.policy = "script-src " + scripts + "; style-src " + sourceHash([]byte(style.String()))
	return d, nil
}

// elsewhere returns the document for a page that begins with another view than the
// one whose heading the document has; see first.js.
func (d *document) elsewhere() *document {
	other := *d
	other.html = bytes.Replace(d.html, []byte(`<html lang="en">`), []byte(`<html lang="en" class="elsewhere">`), 1)
	return &other
}

// sourceHash allows exactly one text in a content security policy.
func sourceHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
