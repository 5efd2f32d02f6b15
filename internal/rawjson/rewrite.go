package rawjson

// RewriteMember returns obj with the value of one member replaced by the result
// of change. change returns its argument to keep the value and nil to drop the
// member. If nothing changes, RewriteMember returns obj itself.
func RewriteMember(obj []byte, name string, change func(value []byte) []byte) []byte {
	for m := Object(obj); m.Next(); {
		if string(m.Name) != name {
			continue
		}
		value := change(m.Value)
		switch {
		case Same(value, m.Value):
			return obj
		case value != nil: // in the same place: the order of a form's fields matters
			out := append(make([]byte, 0, len(obj)+len(value)), obj[:m.End-len(m.Value)]...)
			return append(append(out, value...), obj[m.End:]...)
		}
		if rest := Cut(obj, func(n, _ []byte) bool { return string(n) == name }); rest != nil {
			return rest
		}
		return []byte("{}")
	}
	return obj
}

// RewriteElements returns arr with each element replaced by the result of change.
func RewriteElements(arr []byte, change func(element []byte) []byte) []byte {
	var out []byte
	changed := false
	for e := Array(arr); e.Next(); {
		now := change(e.Value)
		changed = changed || !Same(now, e.Value)
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, now...)
	}
	if !changed {
		return arr
	}
	return append(append([]byte{'['}, out...), ']')
}

// Same reports whether a and b are the same memory.
func Same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) && (a == nil) == (b == nil)
}
