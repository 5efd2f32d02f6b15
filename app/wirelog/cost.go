package wirelog

import "github.com/tenon-mcp/tenon/app/speccheck"

// cost is an upper estimate of the memory that a message holds.
func cost(m *speccheck.Message) int {
	n := messageSize + len(m.Frame) + len(m.Frame)/8 + len(m.ID) + len(m.Tool)
	for _, p := range m.Problems {
		n += problemSize + len(p.Text) + len(p.Pointer)
	}
	if h := m.HTTP; h != nil {
		n += 128 + len(h.URL) + len(h.Error)
		for _, l := range [][]speccheck.Header{h.Request, h.Response} {
			for _, x := range l {
				n += 32 + len(x.Name) + len(x.Value)
			}
		}
	}
	return n
}

const (
	messageSize = 384 // the struct itself, its place in the ring, its map entries
	problemSize = 80
)
