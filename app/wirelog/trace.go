package wirelog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// TraceOptions configure a [Tracer]; nil means the defaults.
type TraceOptions struct {
	// Colour marks directions, errors and problems with terminal colours.
	Colour bool

	// Pretty prints each message over several lines, indented.
	Pretty bool

	// MaxBytes is the maximum length of a printed frame. 0 means 4,096,
	// negative no limit.
	MaxBytes int

	// Servers prints the name of the server on each line.
	Servers bool

	// KeepSecrets prints frames unredacted. If unset, known secrets and the
	// values of members with names like "password" are removed.
	KeepSecrets bool

	// Secrets are the known secret values.
	Secrets *redact.Values
}

// A Tracer is a [Sink] that prints messages as they pass, one line each:
//
//	+0.004s → modern tools/call add #2 {"jsonrpc":…}
//	+0.006s ← modern tools/call add #2 1.9ms {"jsonrpc":…}
//
// A line has the time since the first message, the direction, the era, the
// method, the tool, prompt or URI, the id, and for responses the duration.
// Problems follow on their own lines. Control characters are escaped, so that a
// server cannot control the terminal. A goroutine of the Tracer prints.
type Tracer struct {
	queue *Queue
	w     io.Writer
	o     TraceOptions
	start time.Time
}

// Trace returns a Tracer that prints to w.
func Trace(w io.Writer, o *TraceOptions) *Tracer {
	t := &Tracer{w: w}
	if o != nil {
		t.o = *o
	}
	t.o.MaxBytes = cmp.Or(t.o.MaxBytes, 4096)
	t.queue = NewQueue(0, t.print, func(n int) {
		fmt.Fprintf(t.w, "… %d messages were not printed: they arrived too fast\n", n)
	})
	return t
}

// Add implements [Sink].
func (t *Tracer) Add(m *speccheck.Message) { t.queue.Add(m) }

// Close prints the queued messages and waits for that until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.queue.Close(ctx) }

func (t *Tracer) print(m *speccheck.Message) {
	if t.start.IsZero() {
		t.start = m.At
	}
	if !m.ShapeChecked {
		m.Problems = append(m.Problems[:len(m.Problems):len(m.Problems)], speccheck.CheckShape(m)...)
	}
	io.WriteString(t.w, Format(m, t.start, &t.o)) // nobody can be told if it fails
}

// Format formats one message as a [Tracer] prints it, with the time since start.
// Options may be nil.
func Format(m *speccheck.Message, start time.Time, o *TraceOptions) string {
	if o == nil {
		o = &TraceOptions{}
	}
	if !o.KeepSecrets {
		without := clean(m, o.Secrets)
		m = &without
	}
	p := painter(o.Colour)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.dim(fmt.Sprintf("%+.3fs", m.At.Sub(start).Seconds())), p.arrow(m))
	word := func(s string) {
		if s != "" {
			b.WriteString(" " + s)
		}
	}
	if o.Servers {
		word(visible.Line(m.Server))
	}
	word(p.dim(m.Era))
	word(p.bold(visible.Line(m.Method)))
	word(visible.Line(m.Tool))
	if m.ID != "" {
		word("#" + visible.Line(m.ID))
	}
	switch m.Kind {
	case speccheck.KindResponse, speccheck.KindError:
		if m.Joins != 0 {
			word(p.dim(duration(m.Duration)))
		}
	case speccheck.KindInvalid, speccheck.KindStderr:
		word(p.dim(string(m.Kind) + ":"))
	}
	if m.HTTP != nil && m.HTTP.Status != 0 && m.Kind != speccheck.KindEvent {
		word(p.dim(fmt.Sprintf("HTTP %d", m.HTTP.Status)))
	}
	body(&b, m, o)
	for _, q := range m.Problems {
		fmt.Fprintf(&b, "        %s %s: %s\n", p.red("!"), visible.Line(q.Rule+" "+q.Pointer), visible.Line(q.Text))
	}
	return b.String()
}

// body prints the frame, on the same line or below it.
func body(b *strings.Builder, m *speccheck.Message, o *TraceOptions) {
	frame := m.Frame
	var out bytes.Buffer
	if o.Pretty && m.Kind.IsJSON() && json.Indent(&out, frame, "        ", "  ") == nil {
		b.WriteString("\n        " + cutAt(visible.Text(out.String()), o.MaxBytes) + "\n")
		return
	}
	b.WriteString(" " + cutAt(visible.Line(string(frame)), o.MaxBytes) + "\n")
}

func cutAt(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	cut := visible.Shorten(s, n)
	return fmt.Sprintf("%s (%d more bytes)", cut, len(s)-len(cut)+len("…"))
}

func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2fms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.1fms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}

// A painter writes in colour, or not.
type painter bool

func (p painter) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) dim(s string) string  { return p.in("2", s) }
func (p painter) bold(s string) string { return p.in("1", s) }
func (p painter) red(s string) string  { return p.in("31", s) }

func (p painter) arrow(m *speccheck.Message) string {
	switch {
	case m.Kind == speccheck.KindEvent:
		return p.in("35", "·")
	case m.Kind == speccheck.KindError || m.Kind == speccheck.KindInvalid:
		return p.red(arrowOf(m.Dir))
	case m.Dir == speccheck.ToServer:
		return p.in("36", arrowOf(m.Dir))
	}
	return p.in("32", arrowOf(m.Dir))
}

func arrowOf(d speccheck.Dir) string {
	if d == speccheck.ToServer {
		return "→"
	}
	return "←"
}
