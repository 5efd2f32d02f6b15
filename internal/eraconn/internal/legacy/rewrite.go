package legacy

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// rewriteMember returns obj with the value of one member replaced by the result
// of change. change returns its argument to keep the value and nil to drop the
// member. If nothing changes, rewriteMember returns obj itself.
func rewriteMember(obj []byte, name string, change func(value []byte) []byte) []byte {
	for m := rawjson.Object(obj); m.Next(); {
		if string(m.Name) != name {
			continue
		}
		value := change(m.Value)
		switch {
		case same(value, m.Value):
			return obj
		case value != nil: // in the same place: the order of a form's fields matters
			out := append(make([]byte, 0, len(obj)+len(value)), obj[:m.End-len(m.Value)]...)
			return append(append(out, value...), obj[m.End:]...)
		}
		if rest := rawjson.Cut(obj, func(n, _ []byte) bool { return string(n) == name }); rest != nil {
			return rest
		}
		return []byte("{}")
	}
	return obj
}

// withMember returns obj with one more member, which obj must not have yet.
func withMember(obj []byte, name string, value []byte) []byte {
	out := make([]byte, 0, len(obj)+len(name)+len(value)+8)
	out = append(rawjson.AppendString(append(out, '{'), name), ':')
	out = append(out, value...)
	if in := rawjson.Inside(obj); len(in) > 0 {
		out = append(append(out, ','), in...)
	}
	return append(out, '}')
}

// rewriteElements returns arr with each element replaced by the result of change.
func rewriteElements(arr []byte, change func(element []byte) []byte) []byte {
	var out []byte
	changed := false
	for e := rawjson.Array(arr); e.Next(); {
		now := change(e.Value)
		changed = changed || !same(now, e.Value)
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

// same reports whether a and b are the same memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) && (a == nil) == (b == nil)
}

// rewritten caches rewritten bodies of medium size: a server returns the same
// bytes for a list until the list changes.
type rewritten struct {
	mu   sync.Mutex
	next int
	rows [8]struct {
		of      *revision
		in, out []byte
	}
}

const (
	worthRemembering  = 1 << 10
	tooLongToRemember = 1 << 20
)

func (w *rewritten) get(r *revision, in []byte, rewrite func([]byte) []byte) []byte {
	if len(in) < worthRemembering || len(in) > tooLongToRemember {
		return rewrite(in)
	}
	w.mu.Lock()
	for i := range w.rows {
		if row := &w.rows[i]; row.of == r && same(row.in, in) {
			w.mu.Unlock()
			return row.out
		}
	}
	w.mu.Unlock()
	out := rewrite(in)
	w.mu.Lock()
	row := &w.rows[w.next]
	row.of, row.in, row.out = r, in, out
	w.next = (w.next + 1) % len(w.rows)
	w.mu.Unlock()
	return out
}
