package spec

import (
	"slices"
	"strconv"
	"strings"
)

// A step is a part of a path: the name of a member, or the index of an item.
type step struct {
	name  string
	index int // -1 for a name
}

// steps splits a path such as tools.list[2]["a b"].
func steps(path string) []step {
	var out []step
	for path != "" {
		s := step{index: -1}
		switch {
		case strings.HasPrefix(path, `["`):
			end := strings.Index(path[2:], `"]`)
			if end < 0 {
				return append(out, s)
			}
			if name, err := strconv.Unquote(path[1 : end+3]); err == nil {
				s.name = name
			}
			path = path[end+4:]
		case path[0] == '[':
			digits, rest, _ := strings.Cut(path[1:], "]")
			if i, err := strconv.ParseUint(digits, 10, 31); err == nil {
				s.index = int(i)
			}
			path = rest
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			s.name, path = path[:end], path[end:]
		}
		out = append(out, s)
	}
	return out
}

// broken are the places of mistakes. A key is the path with one form for each step.
type broken struct {
	places, parents map[string]bool
}

func newBroken() broken { return broken{map[string]bool{}, map[string]bool{}} }

// keys returns a key for the file, each part above the path, and the path itself.
func keys(path string) []string {
	key := ""
	out := []string{key}
	for _, s := range steps(path) {
		key += "\x00" + s.name + "\x01" + strconv.Itoa(s.index)
		out = append(out, key)
	}
	return out
}

func (b broken) add(path string) {
	if all := keys(path); len(all) > 1 {
		b.places[all[len(all)-1]] = true
		b.parents[all[len(all)-2]] = true
	}
}

// at reports whether a path or one above it is broken.
func (b broken) at(path string) bool {
	return slices.ContainsFunc(keys(path), func(key string) bool { return b.places[key] })
}

// inside reports whether a member of the object at a path is broken.
func (b broken) inside(path string) bool {
	all := keys(path)
	return b.parents[all[len(all)-1]]
}
