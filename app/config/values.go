package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/typo"
)

// what returns the type of a value for errors.
func (n node) what() string {
	switch n.raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func (n node) text() (string, error) {
	s, ok := rawjson.String(n.raw)
	if !ok {
		return "", n.errorf("must be a string, not %s", n.what())
	}
	return s, nil
}

// scalar returns a string, number or boolean as text.
func (n node) scalar() (string, error) {
	switch n.raw[0] {
	case '{', '[', 'n':
		return "", n.errorf("must be a string, not %s", n.what())
	case '"':
		return n.text()
	}
	return string(n.raw), nil
}

func (n node) bool() (bool, error) {
	switch string(n.raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, n.errorf("must be true or false, not %s", n.what())
}

func (n node) object() ([]member, error) {
	if !rawjson.IsObject(n.raw) {
		return nil, n.errorf("must be an object, not %s", n.what())
	}
	return n.members(), nil
}

func (n node) list() ([]node, error) {
	if !rawjson.IsArray(n.raw) {
		return nil, n.errorf("must be a list, not %s", n.what())
	}
	var list []node
	for e := rawjson.Array(n.raw); e.Next(); {
		// Elements are slices of the list, so the rest of its capacity is the offset.
		off := n.off + cap(n.raw) - cap(e.Value)
		list = append(list, node{doc: n.doc, raw: e.Value, off: off, path: fmt.Sprintf("%s[%d]", n.path, len(list))})
	}
	return list, nil
}

func (n node) texts() ([]string, error) { return listOf(n, node.scalar) }

// listOf reads each element of a list.
func listOf[T any](n node, read func(node) (T, error)) ([]T, error) {
	nodes, err := n.list()
	list := make([]T, len(nodes))
	for i, e := range nodes {
		if list[i], err = read(e); err != nil {
			break
		}
	}
	return list, err
}

// table reads an object of strings. It ignores null values.
func (n node) table() (map[string]string, error) {
	table := map[string]string{}
	err := n.eachMember(func(m member) (err error) {
		if !rawjson.IsNull(m.value.raw) {
			table[m.name], err = m.value.scalar()
		}
		return err
	})
	return table, err
}

// duration reads a number of milliseconds, or a string such as "30s".
func (n node) duration() (time.Duration, error) {
	d, err := time.Duration(0), error(nil)
	if n.raw[0] == '"' {
		s, _ := rawjson.String(n.raw)
		d, err = time.ParseDuration(s)
	} else {
		var ms float64
		ms, err = strconv.ParseFloat(string(n.raw), 64)
		d = time.Duration(ms * float64(time.Millisecond))
	}
	if err != nil || d < 0 || d > 365*24*time.Hour {
		return 0, n.errorf(`must be a number of milliseconds or a duration such as "30s"`)
	}
	return d, nil
}

// didYouMean returns a suffix for an error that suggests a name.
func didYouMean(name string, names []string) string {
	if n := typo.Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
