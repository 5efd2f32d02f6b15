package recording

import (
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// setMember returns obj, which was checked, with a member set to value.
func setMember(obj []byte, name string, value []byte) []byte {
	rest := rawjson.Cut(obj, func(n, _ []byte) bool { return string(n) == name })
	out := append([]byte{'{'}, rawjson.AppendString(nil, name)...)
	out = append(append(out, ':'), value...)
	if inside := rawjson.Inside(rest); len(inside) > 0 {
		out = append(append(out, ','), inside...)
	}
	return append(out, '}')
}

// setAt is setMember for a member at a path. If the path does not exist, obj is
// returned unchanged.
func setAt(obj []byte, path []string, value []byte) []byte {
	inner := rawjson.Lookup(obj, path[0])
	if inner == nil {
		return obj
	}
	if len(path) > 1 {
		changed := setAt(inner, path[1:], value)
		if &changed[0] == &inner[0] {
			return obj
		}
		value = changed
	}
	return setMember(obj, path[0], value)
}

// lookAt returns the value at a path, or nil.
func lookAt(obj []byte, path []string) []byte {
	for _, name := range path {
		if obj = rawjson.Lookup(obj, name); obj == nil {
			return nil
		}
	}
	return obj
}
