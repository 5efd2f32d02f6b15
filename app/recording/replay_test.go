package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/talktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// shop is a server that does a bit of everything. Greeting is what its tool
// says, so that a changed server can be made.
func shop(greeting string) *server.Server {
	type who struct {
		Name string `json:"name"`
	}
	type said struct {
		Text string `json:"text"`
		At   string `json:"at"`
	}
	s := server.New(mcp.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(s, "greet", "Say hello", func(_ context.Context, c *mcp.Call, in who) (said, error) {
		server.Progress(c, 1, 2, "thinking")
		return said{greeting + " " + in.Name, time.Now().Format(time.RFC3339Nano)}, nil
	}, nil)
	server.AddTool(s, "ask", "Ask for a name", func(_ context.Context, c *mcp.Call, _ struct{}) (said, error) {
		a, err := server.Elicit[who](c, "name", "Who are you?")
		if err != nil {
			return said{}, err
		}
		return said{greeting + " " + a.Name, time.Now().Format(time.RFC3339Nano)}, nil
	}, nil)
	return s
}

// A pipe dials a server at the other end of a pipe in memory.
type pipe struct {
	serve func(ctx context.Context, s jsonrpc.Stream)
	tap   func(d jsonrpc.Direction, frame []byte)
	wg    sync.WaitGroup
}

func (p *pipe) Dial(ctx context.Context, persona *mcp.ClientProfile) (mcp.Conn, error) {
	near, far := jsonrpc.Pipe()
	p.wg.Go(func() { p.serve(context.WithoutCancel(ctx), far) })
	return era.Dial(ctx, near, persona, &era.DialOptions{Tap: p.tap})
}

func serving(t *testing.T, h mcp.Handler, legacy bool) func(ctx context.Context, s jsonrpc.Stream) {
	t.Helper()
	srv, err := era.NewServer(h, &era.ServerOptions{LegacyOnly: legacy, ModernOnly: !legacy})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, s jsonrpc.Stream) { srv.ServeStream(ctx, s) }
}

// visit is what a client does at the shop.
func visit(t *testing.T, p *pipe) (said string) {
	t.Helper()
	c, err := client.Dial(t.Context(), p, &client.Options{Elicit: func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: []byte(`{"name":"Ada"}`)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.wg.Wait()
	defer c.Close()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		said += tool.Name + "; "
	}
	steps := 0
	for _, call := range []struct{ tool, name string }{{"greet", "Bob"}, {"greet", "Eve"}, {"ask", ""}} {
		args := map[string]string{}
		if call.name != "" {
			args["name"] = call.name
		}
		r, err := c.CallTool(t.Context(), call.tool, args, &client.CallOptions{Progress: func(mcp.ProgressParams) { steps++ }})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := rawjson.At(r.StructuredContent, "/text")
		said += string(text) + "; "
	}
	return said + fmt.Sprint(steps, " steps")
}

// record has a client visit the shop and returns the conversation as it comes
// back from a file.
func record(t *testing.T, legacy bool) *Recording {
	t.Helper()
	l := wirelog.NewLog(nil)
	p := &pipe{serve: serving(t, shop("Hello"), legacy), tap: l.Wire("shop").Frame}
	if got := visit(t, p); got != visited {
		t.Fatalf("the visit was %q", got)
	}
	ms, gap := l.Since(0, 0)
	if gap {
		t.Fatal("there is a gap")
	}
	for _, m := range ms {
		if len(m.Problems) > 0 {
			t.Errorf("our own message %s breaks %+v", m.Frame, m.Problems)
		}
	}
	var file bytes.Buffer
	if err := Write(&file, NewRecording(ms), nil); err != nil {
		t.Fatal(err)
	}
	rec, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

const visited = `greet; ask; "Hello Bob"; "Hello Eve"; "Hello Ada"; 2 steps`

func eachEra(t *testing.T, f func(t *testing.T, legacy bool)) {
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) { f(t, legacy) })
	}
}

// A recording that is served is as good as the server, for the client that was
// recorded: questions are asked and progress is told.
func TestMockStandsInForTheServer(t *testing.T) {
	eachEra(t, func(t *testing.T, legacy bool) {
		mock, err := NewMock(record(t, legacy), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &pipe{serve: func(ctx context.Context, s jsonrpc.Stream) {
			if err := mock.Serve(ctx, s); err != nil {
				t.Error(err)
			}
		}}
		if got := visit(t, p); got != visited {
			t.Errorf("the visit was %q, want %q", got, visited)
		}
		if got := visit(t, p); got != visited { // from the start again
			t.Errorf("the second visit was %q, want %q", got, visited)
		}
	})
}

func TestReplayFindsNoDifference(t *testing.T) {
	eachEra(t, func(t *testing.T, legacy bool) {
		report := replay(t, record(t, legacy), serving(t, shop("Hello"), legacy), nil)
		for _, s := range report.Steps {
			if !s.OK() {
				t.Errorf("%s: %v, differences %s", s.Request.Method, s.Err, differences(s.Differences))
			}
		}
		if len(report.Steps) < 5 || !report.OK() {
			t.Errorf("the report is %+v", report)
		}
	})
}

func TestReplayFindsWhatHasChanged(t *testing.T) {
	eachEra(t, func(t *testing.T, legacy bool) {
		rec := record(t, legacy)
		report := replay(t, rec, serving(t, shop("Hi"), legacy), nil)
		var found []string
		for _, s := range report.Steps {
			for _, d := range s.Differences {
				found = append(found, s.Request.Tool+d.Pointer)
			}
		}
		got := fmt.Sprint(found)
		for _, want := range []string{"greet/result/structuredContent/text", "ask/result/structuredContent/text"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not among the differences %s", want, got)
			}
		}
		if strings.Contains(got, "/at ") || report.OK() {
			t.Errorf("times count as differences, or differences do not: %s", got)
		}
		calm := replay(t, rec, serving(t, shop("Hi"), legacy), &ReplayOptions{Ignore: []string{"/result/structuredContent/*", "/result/content/*/text"}})
		if !calm.OK() {
			t.Errorf("what was to be ignored was not: %+v", calm)
		}
	})
}

func replay(t *testing.T, rec *Recording, serve func(context.Context, jsonrpc.Stream), o *ReplayOptions) *Report {
	t.Helper()
	if o == nil {
		o = &ReplayOptions{Ignore: []string{"/result/content/*/text"}} // it holds the time
	}
	near, far := jsonrpc.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { serve(context.WithoutCancel(t.Context()), far) })
	report, err := Replay(t.Context(), near, rec, o)
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
	return report
}

func differences(ds []Difference) (s string) {
	for _, d := range ds {
		s += fmt.Sprintf("%s: %s / %s; ", d.Pointer, d.A, d.B)
	}
	return s
}

func TestReplayOfAServerThatGoesAway(t *testing.T) {
	near, far := jsonrpc.Pipe()
	far.Close()
	rec := &Recording{Messages: speccheck.Check(talk(t, `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}`))}
	if _, err := Replay(t.Context(), near, rec, nil); err == nil {
		t.Error("there was no error")
	}
}

func TestReplayOfAServerThatIsSilent(t *testing.T) {
	near, far := jsonrpc.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if _, err := far.Read(); err != nil {
				return
			}
		}
	})
	rec := &Recording{Messages: speccheck.Check(talk(t, `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}
		< {"jsonrpc":"2.0","method":"notifications/x"}`))}
	report, err := Replay(t.Context(), near, rec, &ReplayOptions{Timeout: time.Millisecond})
	if err != nil || len(report.Steps) != 1 || report.Steps[0].Err == nil || report.Missing["notifications/x"] != 1 {
		t.Errorf("the report is %+v, %v", report, err)
	}
	wg.Wait()
}

// A request that the recording does not have is answered with what it has.
func TestMockSaysWhatItHas(t *testing.T) {
	rec := &Recording{Messages: speccheck.Check(talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`))}
	mock, err := NewMock(rec, &MockOptions{Realtime: true})
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { mock.Serve(t.Context(), far) })
	for _, c := range []struct{ ask, want string }{
		{`{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"arguments":{"x":1},"name":"a","_meta":{"progressToken":5}}}`, `{"id":"q","jsonrpc":"2.0","result":{"content":[]}}`},
		{"", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`}, // at its place
		{`{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"b"}}`, `the recording has no tools/call with these parameters; it has {\"arguments\":{\"x\":1},\"name\":\"a\"}`},
		{`{"jsonrpc":"2.0","id":"s","method":"prompts/list"}`, `the recording has no prompts/list; it has initialize, tools/call, tools/list`},
		{`{"jsonrpc":"2.0","id":null}`, `"error"`},
	} {
		if c.ask != "" {
			if err := near.Write([]byte(c.ask + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		got, err := near.Read()
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s\nis answered with %s (%v), want something with %s", c.ask, got, err, c.want)
		}
	}
	near.Close()
	wg.Wait()
	if _, err := NewMock(&Recording{}, nil); err == nil {
		t.Error("an empty recording can be served")
	}
}

// A Queue never makes the adder wait, and tells what it has dropped.
func TestQueue(t *testing.T) {
	gate, lost, n := make(chan struct{}), 0, 0
	q := wirelog.NewQueue(10_000, func(*speccheck.Message) { <-gate; n++ }, func(d int) { lost += d })
	for range 1000 {
		q.Add(&speccheck.Message{Kind: speccheck.KindEvent})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := q.Close(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("the end is %v", err)
	}
	close(gate)
	if err := q.Close(t.Context()); err != nil || n+lost != 1000 || lost == 0 || n == 0 {
		t.Errorf("%d were written and %d dropped, %v", n, lost, err)
	}
}

func TestTracer(t *testing.T) {
	var out bytes.Buffer
	tr := wirelog.Trace(&out, nil)
	w := wirelog.NewLog(&wirelog.LogOptions{Sinks: []wirelog.Sink{tr}}).Wire("s")
	w.Frame(jsonrpc.Out, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",`+talktest.Meta+`}}`))
	w.Frame(jsonrpc.In, []byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`))
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"+0.000s → modern tools/call a #1 {", " ← modern tools/call a #1 ", "! shape.required /result: the member \"content\" is missing"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
