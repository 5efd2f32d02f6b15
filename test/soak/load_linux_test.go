package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// callTimeout is when a client gives up a call.
const callTimeout = 15 * time.Second

// revisions are those of the clients, in turns: half of them are modern.
var revisions = []mcp.Revision{
	mcp.Rev20260728, mcp.Rev20251125, mcp.Rev20260728, mcp.Rev20250618,
	mcp.Rev20260728, mcp.Rev20251125, mcp.Rev20260728, mcp.Rev20250326,
	mcp.Rev20260728, mcp.Rev20241105,
}

// A principal calls through a gateway, one call at a time, with an API key.
type principal struct {
	r        *run
	name     string // of its key
	key      string
	url      string
	revision mcp.Revision
	rand     *rand.Rand
	client   *client.Client
	http     *http.Transport

	n        int // of marks
	lines    int // in its note
	note     int
	file     int
	wroteOne bool // its note is there
}

// mark returns a text that nobody else has, and that is said once.
func (p *principal) mark() string {
	p.n++
	return fmt.Sprintf("%s-%d.", p.name, p.n)
}

func (p *principal) era() string {
	if p.revision == mcp.Rev20260728 {
		return "modern"
	}
	return "legacy"
}

func (p *principal) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	o := &client.Options{Elicit: p.elicit, ElicitURL: p.open, IdleTimeout: callTimeout, Middleware: []mcp.Middleware{tasks.Client}}
	p.http = &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second}
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: p.url, HTTP: &http.Client{Transport: p.http},
		Header: http.Header{"Authorization": {"Bearer " + p.key}}, Era: era.DialOptions{Known: p.revision}}, o)
	if err == nil {
		p.client = c
	}
	return err
}

func (p *principal) close() {
	if p.client != nil {
		p.client.Close()
		p.http.CloseIdleConnections()
		p.client = nil
	}
}

// elicit answers the input requests of all servers.
func (p *principal) elicit(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	if !strings.Contains(e.Message, p.name+"-") {
		p.r.crossing("%s is asked %q", p.name, e.Message)
	}
	if strings.Contains(string(e.Schema), `"who"`) {
		return e.Accept(map[string]any{"who": p.name})
	}
	return e.Accept(map[string]any{"run": true}) // the statement
}

// open opens the page of a login, as this principal.
func (p *principal) open(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("X-User", p.name)
	resp, err := p.http.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	p.r.count("login", 1)
	return e.Accept(nil)
}

// run calls until ctx ends, more often until a time.
func (p *principal) run(ctx context.Context, warm time.Time) {
	defer p.close()
	for ctx.Err() == nil {
		if p.client == nil {
			if err := p.connect(ctx); err != nil {
				p.r.failed("connect", err)
				sleep(ctx, time.Second)
				continue
			}
		}
		p.step(ctx)
		if p.rand.IntN(200) == 0 {
			p.close() // and connect again
		}
		mean := pause
		if time.Now().Before(warm) {
			mean = warmPause
		}
		sleep(ctx, mean/2+time.Duration(p.rand.Int64N(int64(mean))))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// step makes one call. It is finished also if the run ends meanwhile.
func (p *principal) step(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	shops := []string{"modern", "legacy", "frail", "stdio"}
	shop := shops[p.rand.IntN(len(shops))]
	mark := p.mark()
	switch n := p.rand.IntN(100); {
	case n < 37:
		p.expect(ctx, "echo", shop+"__echo", mark, said{mark}, nil)
	case n < 41:
		if p.revision >= mcp.Rev20251125 { // older clients cannot open a page
			p.expect(ctx, "who", "who__me", p.name, nil, nil)
		}
	case n < 45:
		p.expect(ctx, "api", "api__echo", mark, said{mark}, nil)
	case n < 52:
		want := mark
		if p.revision >= mcp.Rev20250618 { // older clients cannot be asked
			want = mark + " " + p.name
			p.expect(ctx, "ask", shop+"__ask", want, said{mark}, nil)
		}
	case n < 58:
		p.expect(ctx, "slow", shop+"__slow", mark, said{mark}, &client.CallOptions{Progress: func(u mcp.ProgressParams) {
			if u.Message != mark {
				p.r.crossing("%s gets the progress %q", p.name, u.Message)
			}
		}})
	case n < 61:
		short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		defer stop()
		p.client.CallTool(short, shop+"__slow", said{mark}, nil)
	case n < 65:
		p.expect(ctx, "big", shop+"__big", strings.Repeat(mark+"\n", 10_000), said{mark}, nil)
	case n < 70:
		p.change(ctx, "order", shop+"__order", mark, said{mark})
	case n < 77:
		p.task(ctx, shop, mark)
	case n < 84:
		p.append(ctx, mark)
	case n < 88:
		p.read(ctx)
	case n < 93:
		p.writeFile(ctx, mark)
	case n < 97:
		p.change(ctx, "sql", "sql__run_statement", mark, map[string]any{"sql": "INSERT INTO log (who, mark) VALUES (?, ?)", "params": []string{p.name, mark}, "confirm": true})
	default:
		for _, err := range p.client.Tools(ctx) {
			if p.r.failed("list", err) {
				return
			}
		}
		p.r.count("list", 1)
	}
}

// call calls a tool and measures. It reports whether there is a result.
func (p *principal) call(ctx context.Context, kind, tool string, args any, o *client.CallOptions) (text string, ok bool) {
	began := time.Now()
	res, err := p.client.CallTool(ctx, tool, args, o)
	if err == nil && res.IsError {
		err = errors.New(res.Content.Text())
	}
	if p.r.failed(kind, err) {
		return "", false
	}
	p.r.count(kind, 1)
	p.r.took(p.era(), time.Since(began))
	return res.Content.Text(), true
}

// expect makes a call whose result is known.
func (p *principal) expect(ctx context.Context, kind, tool, want string, args any, o *client.CallOptions) {
	if got, ok := p.call(ctx, kind, tool, args, o); ok && got != want {
		p.r.crossing("%s calls %s with %.40q and gets %.80q", p.name, tool, want, got)
	}
}

// change makes a call that changes something, and notes whether it was
// acknowledged.
func (p *principal) change(ctx context.Context, kind, tool, mark string, args any) bool {
	p.r.ledger.note("try", kind, p.name, mark)
	text, ok := p.call(ctx, kind, tool, args, nil)
	if ok {
		p.r.ledger.note("ok", kind, p.name, mark)
	}
	if ok && kind == "order" && text != mark {
		p.r.crossing("%s orders %q and gets %q", p.name, mark, text)
	}
	return ok
}

// task starts a task and waits for its result. A task of which the client knows
// the id is acknowledged.
func (p *principal) task(ctx context.Context, shop, mark string) {
	if p.revision != mcp.Rev20260728 {
		p.expect(ctx, "job", shop+"__job", mark, said{mark}, nil)
		return
	}
	h, err := tasks.Start(ctx, p.client, shop+"__job", said{mark}, nil)
	if p.r.failed("task", err) {
		return
	}
	if h.ID() != "" {
		p.r.ledger.note("ok", "task", p.name, mark, h.ID())
	}
	res, err := h.Wait(ctx)
	if err == nil && res.IsError {
		err = errors.New(res.Content.Text())
	}
	if p.r.failed("task", err) {
		return
	}
	p.r.count("task", 1)
	if got := res.Content.Text(); got != mark {
		p.r.crossing("the task %q of %s has the result %q", mark, p.name, got)
	}
}

// append adds a line to a note in the folder of the principal.
func (p *principal) append(ctx context.Context, mark string) {
	path := p.notePath()
	if !p.wroteOne {
		if p.change(ctx, "note", "notes__create_note", mark, map[string]any{"path": path, "text": mark + "\n"}) {
			p.wroteOne = true
		} else {
			p.note++ // it may be there
		}
		return
	}
	p.change(ctx, "note", "notes__update_note", mark, map[string]any{"path": path, "mode": "append", "text": mark})
	if p.lines++; p.lines%100 == 0 {
		p.note, p.wroteOne = p.note+1, false
	}
}

// read reads the note of the principal, which has no line of anybody else.
func (p *principal) read(ctx context.Context) {
	if !p.wroteOne {
		return
	}
	text, ok := p.call(ctx, "read", "notes__read_note", map[string]any{"path": p.notePath()}, nil)
	for line := range strings.Lines(text) {
		if ok && strings.HasPrefix(line, "p") && !strings.HasPrefix(line, p.name+"-") {
			p.r.crossing("%s reads the line %q", p.name, line)
		}
	}
}

func (p *principal) notePath() string { return fmt.Sprintf("people/%s/log-%d.md", p.name, p.note) }

// writeFile replaces the file of the principal. After a failure it uses another
// one, because the call that failed may still have its effect.
func (p *principal) writeFile(ctx context.Context, mark string) {
	path := fmt.Sprintf("%s-%d.txt", p.name, p.file)
	p.r.ledger.note("try", "file", p.name, mark, path)
	if _, ok := p.call(ctx, "file", "files__write_file", map[string]any{"path": path, "content": mark}, nil); ok {
		p.r.ledger.note("ok", "file", p.name, mark, path)
	} else {
		p.file++
	}
}

// A ledger is a file with what clients tried and what was acknowledged, so that
// their process does not grow with it.
type ledger struct {
	mu sync.Mutex
	w  *bufio.Writer
	f  *os.File
}

func newLedger(dir string) (*ledger, error) {
	f, err := os.Create(filepath.Join(dir, "ledger"))
	return &ledger{w: bufio.NewWriter(f), f: f}, err
}

func (l *ledger) note(words ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, strings.Join(words, " "))
}

// read returns the lines.
func (l *ledger) read() (lines [][]string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.w.Flush(), l.f.Close()); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(l.f.Name())
	for line := range strings.Lines(string(raw)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines, err
}

// took notes how long a call took.
func (r *run) took(era string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latency[era] = append(r.latency[era], d)
}

// measure adds the times since the last measure to the samples.
func (r *run) measure() {
	r.mu.Lock()
	all := r.latency
	r.latency = map[string][]time.Duration{}
	r.mu.Unlock()
	for era, times := range all {
		slices.Sort(times)
		ms := func(part float64) float64 {
			return float64(times[int(part*float64(len(times)-1))].Microseconds()) / 1000
		}
		r.recorder.add(era+" calls", 0, time.Since(r.began), map[string]float64{median.name: ms(0.5), tail.name: ms(0.99)})
	}
}

// failed reports whether err is an error, and counts it.
func (r *run) failed(kind string, err error) bool {
	if err == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures[kind]++
	r.reasons[clip(kind+": "+err.Error())]++
	return true
}

// clip shortens an error so that equal ones can be counted.
func clip(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	for _, digit := range "0123456789" {
		text = strings.ReplaceAll(text, string(digit), "")
	}
	return text[:min(len(text), 110)]
}

func (r *run) count(kind string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[kind] += n
}

func (r *run) crossing(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crossed = append(r.crossed, fmt.Sprintf(format, args...))
}

// write writes a file as JSON, in one go.
func (r *run) write(name string, v any) {
	raw, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name+".new", raw, 0o600), os.Rename(name+".new", name))
	}
	if err != nil {
		r.t.Error(err)
	}
}
