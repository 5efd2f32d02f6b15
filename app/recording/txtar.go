package recording

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// A section is one named piece of a txtar archive. Its data ends with a newline
// unless it is empty.
type section struct {
	name string
	data []byte
}

// archive is a txtar archive: a comment, then sections, each after a line
//
//	-- name --
type archive struct {
	comment  []byte
	sections []section
}

// marker returns the name in a line that begins a section.
func marker(line []byte) (name string, ok bool) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) < 7 || !bytes.HasPrefix(line, []byte("-- ")) || !bytes.HasSuffix(line, []byte(" --")) {
		return "", false
	}
	name = strings.TrimSpace(string(line[3 : len(line)-3]))
	return name, name != ""
}

// parseArchive parses an archive. Every text is one.
func parseArchive(text []byte) (a archive) {
	into := &a.comment
	for line := range bytes.Lines(text) {
		if name, ok := marker(line); ok {
			a.sections = append(a.sections, section{name: name})
			into = &a.sections[len(a.sections)-1].data
			continue
		}
		*into = append(*into, line...)
		if line[len(line)-1] != '\n' {
			*into = append(*into, '\n')
		}
	}
	return a
}

// writeSection writes one section; data must end with a newline and have no line
// that begins a section.
func writeSection(w io.Writer, name string, data []byte) error {
	_, err := fmt.Fprintf(w, "-- %s --\n%s", name, data)
	return err
}
