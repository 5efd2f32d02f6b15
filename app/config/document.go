package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// maxFile is the size limit of files in bytes. Other programs keep histories in
// theirs.
const maxFile = 64 << 20

// space is white space in JSON.
const space = " \t\r\n"

// A document is a JSON file that may have comments and trailing commas. Offsets
// in data are offsets in the file.
type document struct {
	file     string
	text     []byte // content of the file
	data     []byte // text with comments and trailing commas replaced by spaces
	trailing []int  // offsets of the trailing commas

	converted bool // the file is not JSON, so offsets say nothing about it
}

// A node is a value in a document.
type node struct {
	doc  *document
	raw  []byte
	off  int    // offset in the document
	path string // such as mcpServers.notes.env
}

// open reads a file. An empty file is an empty object.
func open(file string) (node, error) {
	text, err := readAll(file, maxFile)
	if err != nil {
		return node{}, err
	}
	return read(file, text)
}

// openRegular opens a regular file. Reading a pipe or a device could block
// forever.
func openRegular(file string) (*os.File, error) {
	if info, err := os.Stat(file); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	return os.Open(file)
}

func readAll(file string, limit int) ([]byte, error) {
	f, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s is larger than %d KiB", file, limit>>10)
	}
	return text, err
}

func read(file string, text []byte) (node, error) {
	d := &document{file: file, text: text}
	d.data, d.trailing = blank(text)
	if len(bytes.Trim(d.data, space)) == 0 {
		return node{doc: d, raw: []byte("{}")}, nil
	}
	if err := rawjson.Check(d.data); err != nil {
		if bad, ok := errors.AsType[*rawjson.SyntaxError](err); ok {
			return node{}, d.errorAt(bad.Offset, "invalid JSON: %s", bad.Reason)
		}
		return node{}, fmt.Errorf("%s: %w", file, err)
	}
	start := len(d.data) - len(bytes.TrimLeft(d.data, space))
	n := node{doc: d, raw: bytes.Trim(d.data, space), off: start}
	if !rawjson.IsObject(n.raw) {
		return node{}, d.errorAt(start, `must be an object, such as {"mcpServers": {}}`)
	}
	return n, nil
}

// blank returns a copy of text with spaces instead of a byte order mark, comments
// and trailing commas, and the offsets of these commas.
func blank(text []byte) (b []byte, trailing []int) {
	b = bytes.Clone(text)
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		copy(b, "   ")
	}
	comma := -1 // offset of a comma that no value follows yet
	for i := 0; i < len(b); {
		switch {
		case b[i] == '"':
			i, comma = afterString(b, i), -1
		case b[i] == '/' && i+1 < len(b) && (b[i+1] == '/' || b[i+1] == '*'):
			i = blankComment(b, i)
		case b[i] == ',':
			comma = i
			i++
		case b[i] == '}' || b[i] == ']':
			if comma >= 0 {
				b[comma] = ' '
				trailing = append(trailing, comma)
			}
			comma = -1
			i++
		default:
			if !strings.ContainsRune(space, rune(b[i])) {
				comma = -1
			}
			i++
		}
	}
	return b, trailing
}

func afterString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"' && b[i] != '\n'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(b))
}

// blankComment overwrites the comment at i with spaces, including line breaks in it,
// and returns its end. It leaves an unterminated comment for the syntax check.
func blankComment(b []byte, i int) int {
	end := len(b)
	if b[i+1] == '*' {
		n := bytes.Index(b[i+2:], []byte("*/"))
		if n < 0 {
			return len(b)
		}
		end = i + 2 + n + 2
	} else if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		end = i + n
	}
	for ; i < end; i++ {
		if b[i] != '\r' || i+1 < end { // the CR of a line break after the comment stays
			b[i] = ' '
		}
	}
	return end
}

// position returns the line and column of an offset, both starting at 1.
func (d *document) position(off int) (line, column int) {
	before := d.text[:min(off, len(d.text))]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

func (d *document) errorAt(off int, format string, args ...any) error {
	if d.converted {
		return fmt.Errorf("%s: %w", d.file, fmt.Errorf(format, args...))
	}
	line, column := d.position(off)
	return fmt.Errorf("%s:%d:%d: %w", d.file, line, column, fmt.Errorf(format, args...))
}

// errorf returns an error about the value with its position.
func (n node) errorf(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if n.path != "" {
		text = n.path + " " + text
	}
	return n.doc.errorAt(n.off, "%s", text)
}

// A member is a name and a value in an object.
type member struct {
	name  string
	off   int // of the name
	value node
}

func (n node) members() []member {
	var list []member
	for m := rawjson.Object(n.raw); m.Next(); {
		name := string(m.Name)
		path := name
		if n.path != "" {
			path = n.path + "." + name
		}
		list = append(list, member{name: name, off: n.off + m.Start,
			value: node{doc: n.doc, raw: m.Value, off: n.off + m.End - len(m.Value), path: path}})
	}
	return list
}

// eachMember calls set with each member of an object until it returns an error.
func (n node) eachMember(set func(member) error) error {
	members, err := n.object()
	for _, m := range members {
		if err = set(m); err != nil {
			break
		}
	}
	return err
}

// member returns the value of a member; ok is false if there is none.
func (n node) member(name string) (value node, ok bool) {
	for _, m := range n.members() {
		if m.name == name {
			return m.value, true
		}
	}
	return node{}, false
}
