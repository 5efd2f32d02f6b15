package era_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A row is one hostile case: bytes that a client sends over stdio framing, and
// what must come back. The ids are those of the project's table of hostile
// cases. After each row the same connection must still serve, and every line
// that came must be a valid message (see wire.check).
type row struct {
	id      string
	options era.ServerOptions
	limit   int          // of a line; 0 means the default
	legacy  mcp.Revision // the revision of a session to open first; empty means none
	heavy   bool         // also look at what stays on the heap
	steps   []step
}

// A step sends something and says what comes of it: every line, in order.
type step struct {
	send string        // lines without the last line break
	do   func(w *wire) // something that happens on the server's side
	wait time.Duration // how much time passes before the lines are looked at
	want []string      // what comes, see wire.matches
	look func(t *testing.T, lines []string)
}

// A wire is one client's connection to the fixture, seen as bytes.
type wire struct {
	t       *testing.T
	spec    *spectest.Spec // nil where the published schemas are absent
	fixture *fixture
	in      *io.PipeWriter
	served  chan error

	mu    sync.Mutex
	lines []string // what came and was not looked at

	ended      string // what stands in lines that may come after the client's end
	modernOnly bool
	session    mcp.Revision           // what initialize came to
	asked      map[string]sentRequest // by the JSON of their ids
}

type sentRequest struct {
	method   string
	revision mcp.Revision
}

// schemas returns the published schemas, or nil where they are absent.
func schemas(t *testing.T) (s *spectest.Spec) {
	t.Run("with the published schemas", func(t *testing.T) { s = spectest.Load(t) })
	return s
}

func runRows(t *testing.T, rows []row) {
	spec := schemas(t)
	for _, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			if !r.heavy {
				synctest.Test(t, func(t *testing.T) { r.run(t, spec) })
				return
			}
			before := heap()
			synctest.Test(t, func(t *testing.T) { r.run(t, spec) })
			if after := heap(); after > before+8<<20 {
				t.Errorf("the heap grew from %d to %d bytes", before, after)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (r *row) run(t *testing.T, spec *spectest.Spec) {
	w := openWire(t, spec, r)
	if r.legacy != "" {
		w.initialize(r.legacy)
	}
	for i, s := range r.steps {
		if s.send != "" {
			w.send(s.send + "\n")
		}
		if s.do != nil {
			s.do(w)
		}
		if s.wait > 0 {
			time.Sleep(s.wait)
		}
		synctest.Wait()
		lines := w.take()
		w.expect(fmt.Sprintf("step %d", i), lines, s.want)
		if s.look != nil {
			s.look(t, lines)
		}
	}
	w.send(request(`"still here"`, "tools/call", `"name":"echo","arguments":{"msg":"hi"}`) + "\n")
	synctest.Wait()
	w.expect("echo after the row", w.take(), []string{`"still here" ok "text":"hi"`})
	w.close()
}

func openWire(t *testing.T, spec *spectest.Spec, r *row) *wire {
	w := &wire{t: t, spec: spec, fixture: newFixture(t), served: make(chan error, 1), asked: map[string]sentRequest{}, modernOnly: r.options.ModernOnly}
	s, err := era.NewServer(w.fixture.Server, &r.options)
	if err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w.in = toServer
	go func() {
		w.served <- s.ServeStream(context.Background(), jsonrpc.Lines(in, out, closers{in, out}, r.limit))
	}()
	go func() {
		lines := bufio.NewReader(fromServer)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.mu.Lock()
			w.lines = append(w.lines, strings.TrimSuffix(line, "\n"))
			w.mu.Unlock()
		}
	}()
	return w
}

type closers []io.Closer

func (cs closers) Close() error {
	for _, c := range cs {
		c.Close()
	}
	return nil
}

func (w *wire) close() {
	w.in.Close()
	if err := <-w.served; err != nil {
		w.t.Errorf("serving ended with %v", err)
	}
	synctest.Wait()
	for _, line := range w.take() {
		if w.ended == "" || !strings.Contains(line, w.ended) {
			w.t.Errorf("after the end came %s", line)
		}
	}
}

// send writes bytes as they are, and takes down the requests among them.
func (w *wire) send(raw string) {
	w.t.Helper()
	for line := range strings.Lines(raw) {
		each := []json.RawMessage{json.RawMessage(line)}
		if strings.HasPrefix(line, "[") {
			_ = json.Unmarshal([]byte(line), &each) // what is not JSON stays one message
		}
		for _, one := range each {
			w.note(one)
		}
	}
	if _, err := io.WriteString(w.in, raw); err != nil {
		w.t.Fatalf("the server does not read any more: %v", err)
	}
}

// note takes down a request. What is none does no harm.
func (w *wire) note(one []byte) {
	method, _ := rawjson.String(rawjson.Lookup(one, "method"))
	id := rawjson.Lookup(one, "id")
	if method == "" || id == nil {
		return
	}
	rev := cmp.Or(w.session, mcp.Rev20251125)
	if w.modernOnly || method == "server/discover" || bytes.Contains(one, []byte(`"io.modelcontextprotocol/`)) {
		rev = mcp.Rev20260728
	}
	w.asked[string(id)] = sentRequest{method, rev}
}

// initialize opens a session.
func (w *wire) initialize(rev mcp.Revision) {
	w.t.Helper()
	w.session = rev
	w.send(initialize("0", rev) + "\n")
	synctest.Wait()
	w.expect("initialize", w.take(), []string{`0 ok "protocolVersion":"` + string(rev) + `"`})
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	synctest.Wait() // until it is subscribed
}

func initialize(id string, rev mcp.Revision) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`, id, rev)
}

// take returns the lines that came since the last time. A batch counts as its
// messages, each with a bracket before it.
func (w *wire) take() []string {
	w.mu.Lock()
	lines := w.lines
	w.lines = nil
	w.mu.Unlock()
	var out []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "[") {
			w.check(line)
			out = append(out, line)
			continue
		}
		if w.session != mcp.Rev20250326 {
			w.t.Errorf("a batch came in revision %q: %s", w.session, line)
		}
		var each []json.RawMessage
		if err := json.Unmarshal([]byte(line), &each); err != nil {
			w.t.Errorf("not JSON: %v: %.200q", err, line)
		}
		for _, one := range each {
			w.check(string(one))
			out = append(out, "["+string(one))
		}
	}
	return out
}
