package validate

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A kind is the type of a JSON value. Kinds are bits, so that they can be
// combined.
type kind uint8

const (
	isNull kind = 1 << iota
	isBool
	isNumber
	isString
	isArray
	isObject
	isInteger // only in what a schema asks for
)

func (k kind) String() string {
	switch k {
	case isNull:
		return "null"
	case isBool:
		return "boolean"
	case isNumber:
		return "number"
	case isString:
		return "string"
	case isArray:
		return "array"
	case isObject:
		return "object"
	case isInteger:
		return "integer"
	}
	return "nothing"
}

// An item is one value of a document.
type item struct {
	kind    kind
	escaped bool  // a string that is not written as what it means
	at, end int32 // its bytes; those of a string are without the quotes
	next    int32 // the first item that is neither this one nor inside it
	count   int32 // members or elements
}

// A document is validated JSON as a list of its values, each followed by those
// inside it. In an object each value follows the string that is its name.
type document struct {
	text  []byte
	items []item
	names string // text once more, where parts of it are kept
}

// read validates text and lists its values, at most most of them.
func read(text []byte, most int) (document, error) {
	d := document{text: text}
	if err := rawjson.Check(text); err != nil {
		return d, fmt.Errorf("is not valid JSON: %w", err)
	}
	d.items = make([]item, 0, min(len(text)/5+2, 1000))
	open := int32(-1) // the innermost object or array; those around it are in next
	for i := 0; i < len(text); {
		it := item{at: int32(i), next: int32(len(d.items)) + 1}
		switch text[i] {
		case ' ', '\t', '\n', '\r', ':', ',':
			i++
			continue
		case ']', '}':
			i++
			it := &d.items[open]
			open, it.end, it.next = it.next, int32(i), int32(len(d.items))
			if it.kind == isObject {
				it.count /= 2
			}
			continue
		case '{':
			it.kind, i = isObject, i+1
		case '[':
			it.kind, i = isArray, i+1
		case '"':
			it.kind, it.at = isString, it.at+1
			it.end, it.escaped = endOfString(text, i+1)
			i = int(it.end) + 1
		case 'n':
			it.kind, i = isNull, i+4
		case 't':
			it.kind, i = isBool, i+4
		case 'f':
			it.kind, i = isBool, i+5
		default:
			it.kind = isNumber
			for i++; i < len(text) && isNumeric(text[i]); i++ {
			}
			if err := checkSize(text[it.at:i]); err != nil {
				return d, err
			}
		}
		if it.kind != isString {
			it.end = int32(i)
		}
		if open >= 0 {
			d.items[open].count++
		}
		if len(d.items) >= most {
			return d, fmt.Errorf("has more than %d values in it", most)
		}
		if it.kind == isObject || it.kind == isArray {
			it.next, open = open, int32(len(d.items))
		}
		d.items = append(d.items, it)
	}
	return d, nil
}

// endOfString finds the quote that ends a string.
func endOfString(text []byte, i int) (end int32, escaped bool) {
	for near := min(i+24, len(text)); i < near && text[i] != '\\'; i++ { // most are short
		if text[i] == '"' {
			return int32(i), false
		}
	}
	for {
		n := bytes.IndexByte(text[i:], '"')
		slash := bytes.IndexByte(text[i:i+n], '\\')
		if slash < 0 {
			return int32(i + n), escaped
		}
		i, escaped = i+slash+2, true
	}
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c|0x20 == 'e'
}

// checkSize refuses numbers that are not cheap to compute with.
func checkSize(number []byte) error {
	power := 0
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		var err error
		if power, err = strconv.Atoi(string(number[i+1:])); err != nil {
			power = 1000
		}
	}
	if len(number) > 400 || power > 400 || power < -400 {
		return fmt.Errorf("the number %s is too long or too large to be checked", words.Clip(string(number)))
	}
	return nil
}

// raw gives a value as it is written.
func (d *document) raw(i int32) []byte {
	it := &d.items[i]
	if it.kind == isString {
		return d.text[it.at-1 : it.end+1]
	}
	return d.text[it.at:it.end]
}

// bytes gives what a string means. It must not be changed.
func (d *document) bytes(i int32) []byte {
	it := &d.items[i]
	if !it.escaped {
		return d.text[it.at:it.end]
	}
	s, _ := rawjson.String(d.raw(i))
	return []byte(s)
}

func (d *document) string(i int32) string {
	if it := &d.items[i]; d.names != "" && !it.escaped {
		return d.names[it.at:it.end]
	}
	return string(d.bytes(i))
}

// isTrue tells true from false.
func (d *document) isTrue(i int32) bool { return d.text[d.items[i].at] == 't' }

// member finds the value of a member, or -1.
func (d *document) member(object int32, name string) int32 {
	if d.items[object].kind != isObject {
		return -1
	}
	for i := object + 1; i < d.items[object].next; i = d.items[i+1].next {
		if string(d.bytes(i)) == name {
			return i + 1
		}
	}
	return -1
}
