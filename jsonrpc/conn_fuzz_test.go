package jsonrpc

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"
)

// chunks reads from data in pieces whose sizes are given, over and over.
type chunks struct {
	data, sizes []byte
	i           int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.sizes) > 0 {
		n = max(1, int(c.sizes[c.i%len(c.sizes)]))
		c.i++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// However the bytes come in, the frames are the lines of them.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n \nc"), []byte{1, 3}, 4)
	f.Add([]byte("0123456789\n01234567890\nx"), []byte{}, 10)
	f.Fuzz(func(t *testing.T, data, sizes []byte, limit int) {
		if limit <= 0 {
			limit = 64
		}
		limit = min(limit, 1<<20)
		var want []string
		for _, line := range bytes.Split(data, []byte{'\n'}) {
			if len(line) > limit {
				want = append(want, "-")
			} else if line = bytes.Trim(line, " \t\r"); len(line) > 0 {
				want = append(want, string(line))
			}
		}
		if got := framesOf(t, &chunks{data: data, sizes: sizes}, limit); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Whatever comes in, a Conn lives until its input ends, then ends, and sends
// nothing that is not a message.
func FuzzConn(f *testing.F) {
	f.Add([]byte(ask(1, "echo")+"\n"+ask(1, "panic")+"\n"+ask(2, "ask")), true, true)
	f.Add([]byte(`[`+ask(1, "echo")+`,5,{"jsonrpc":"2.0","id":1,"result":{}}]`+"\n[]\n[[]]\n"), true, false)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`+"\n"+`{"jsonrpc":"2.0","method":"n"}`+"\n\xff\n{"), false, false)
	f.Add([]byte(ask(1, "ask")+"\n"+`{"jsonrpc":"2.0","id":1}`+"\n"+`{"jsonrpc":"2.0","method":"cancel"}`), false, true)
	f.Fuzz(func(t *testing.T, data []byte, server, inline bool) {
		s := &collected{in: Lines(bytes.NewReader(data), io.Discard, nopCloser{}, 1<<16)}
		h := serving{
			request: func(ctx context.Context, x *Exchange) {
				switch x.Method {
				case "panic":
					panic("fuzz")
				case "ask":
					ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
					defer cancel()
					x.Conn().Call(ctx, "m", nil)
				}
				answer(x, `{}`)
			},
			notice: func(_ context.Context, c *Conn, m *Message) { c.Cancel(ID("1")) },
		}
		conn := NewConn(s, h, &ConnOptions{RespondToInvalid: server, WriteInline: inline, Batch: func() error { return nil }})
		if err := conn.Run(t.Context()); err != nil {
			t.Errorf("Run: %v", err)
		}
		for line := range bytes.Lines(s.wrote) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			if IsBatch(line) {
				items, err := DecodeBatch(line, 0)
				if err != nil {
					t.Errorf("sent %s: %v", line, err)
				}
				for _, it := range items {
					if it.Err != nil {
						t.Errorf("sent %s: %v", line, it.Err)
					}
				}
			} else if _, err := Decode(line); err != nil {
				t.Errorf("sent %s: %v", line, err)
			}
		}
	})
}

// collected is a stream that keeps what is written to it.
type collected struct {
	in    Stream
	wrote []byte
}

func (c *collected) Read() ([]byte, error) { return c.in.Read() }
func (c *collected) Write(b []byte) error  { c.wrote = append(c.wrote, b...); return nil }
func (c *collected) Close() error          { return nil }
