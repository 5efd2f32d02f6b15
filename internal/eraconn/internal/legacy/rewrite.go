package legacy

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

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
		if row := &w.rows[i]; row.of == r && rawjson.Same(row.in, in) {
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
