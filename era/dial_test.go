package era_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A reply is what a scripted server does about a request: it says something
// after a while, or stays silent, or dies.
type reply struct {
	after time.Duration
	body  string // members beside jsonrpc and id; empty means silence
	die   bool
}

// script is how a server answers each method, one reply for each time it is
// asked; the last one counts for the rest. What is not there stays silent.
type script map[string][]reply

const (
	discovered  = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
	initialized = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`
)

func unsupported(versions string) string {
	return `"error":{"code":-32022,"message":"no","data":{"supported":` + versions + `,"requested":"x"}}`
}

func say(body string) []reply                    { return []reply{{body: body}} }
func later(d time.Duration, body string) []reply { return []reply{{after: d, body: body}} }
func once(first string, then ...string) (rs []reply) {
	for _, b := range append([]string{first}, then...) {
		rs = append(rs, reply{body: b})
	}
	return rs
}

// play serves a script at the far end of a stream and returns a log of what
// was asked.
func play(t *testing.T, s script, far jsonrpc.Stream) (asked func() []string, ended chan struct{}) {
	var mu sync.Mutex
	var log []string
	count := map[string]int{}
	ended = make(chan struct{})
	var late sync.WaitGroup
	go func() {
		defer close(ended)
		defer late.Wait()
		for {
			frame, err := far.Read()
			if err != nil {
				return
			}
			m, err := jsonrpc.Decode(frame)
			if err != nil {
				t.Errorf("the client sent %s: %v", frame, err)
				continue
			}
			what := m.Method
			if m.Method == "initialize" {
				var p struct{ ProtocolVersion string }
				json.Unmarshal(m.Params, &p)
				what += " " + p.ProtocolVersion
			}
			if m.IsResponse() {
				what = "answer " + string(frame)
			}
			mu.Lock()
			log = append(log, what)
			mu.Unlock()
			replies := s[m.Method]
			if len(replies) == 0 {
				continue
			}
			r := replies[min(count[m.Method], len(replies)-1)]
			count[m.Method]++
			if r.die {
				far.Close()
				return
			}
			send := func() {
				if r.body != "" { // the client may be gone
					far.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + r.body + "}\n"))
				}
			}
			if r.after == 0 {
				send()
				continue
			}
			late.Go(func() { time.Sleep(r.after); send() })
		}
	}()
	return func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return log
	}, ended
}

// Every way in which a server can answer when it is met over stdio.
func TestDial(t *testing.T) {
	legacyError := func(code int) script {
		return script{"server/discover": say(fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, code)), "initialize": say(initialized)}
	}
	old := []string{"server/discover", "initialize 2025-11-25", "notifications/initialized"}
	probed := []string{"server/discover"}
	both := []string{"server/discover", "initialize 2025-11-25"}
	for _, c := range []struct {
		name   string
		script script
		want   mcp.Revision // empty means that it fails
		part   string       // of the error
		took   time.Duration
		asked  []string
	}{
		{"modern", script{"server/discover": say(discovered)}, mcp.Rev20260728, "", 0, probed},
		{"modern, several versions", script{"server/discover": say(`"result":{"supportedVersions":["2099-01-01","2026-07-28","2025-11-25"],"capabilities":{}}`)}, mcp.Rev20260728, "", 0, probed},
		{"discovers older versions only", script{"server/discover": say(`"result":{"supportedVersions":["2025-06-18","2024-11-05"],"capabilities":{}}`), "initialize": say(initialized)},
			mcp.Rev20251125, "", 0, []string{"server/discover", "initialize 2025-06-18", "notifications/initialized"}},
		{"discovers nothing in common", script{"server/discover": say(`"result":{"supportedVersions":["2099-01-01"],"capabilities":{}}`)}, "", "no common protocol revision: the server supports 2099-01-01", 0, probed},
		{"-32022 and then it works", script{"server/discover": once(unsupported(`["2026-07-28"]`), discovered)}, mcp.Rev20260728, "", 0, []string{"server/discover", "server/discover"}},
		{"-32022 for ever", script{"server/discover": say(unsupported(`["2026-07-28"]`))}, "", "refuses a revision that it lists as supported", 0, []string{"server/discover", "server/discover"}},
		{"-32022, an older version", script{"server/discover": say(unsupported(`["2025-03-26"]`)), "initialize": say(`"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)},
			mcp.Rev20250326, "", 0, []string{"server/discover", "initialize 2025-03-26", "notifications/initialized"}},
		{"-32022, none in common", script{"server/discover": say(unsupported(`["2099-01-01"]`)), "initialize": say(initialized)}, "", "no common protocol revision: the server supports 2099-01-01", 0, probed},
		{"-32022 without data", legacyError(-32022), mcp.Rev20251125, "", 0, old},
		{"-32022, data null", script{"server/discover": say(`"error":{"code":-32022,"message":"no","data":null}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, data a string", script{"server/discover": say(`"error":{"code":-32022,"message":"no","data":"2026-07-28"}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, data an array", script{"server/discover": say(`"error":{"code":-32022,"message":"no","data":["2026-07-28"]}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, data without supported", script{"server/discover": say(`"error":{"code":-32022,"message":"no","data":{"requested":"x"}}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, supported a number", script{"server/discover": say(unsupported(`5`)), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, supported a string", script{"server/discover": say(unsupported(`"x"`)), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, supported null", script{"server/discover": say(unsupported(`null`)), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, supported an object", script{"server/discover": say(unsupported(`{"0":"2026-07-28"}`)), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"-32022, supported empty", script{"server/discover": say(unsupported(`[]`)), "initialize": say(initialized)}, "", "no common protocol revision: the server lists none that it supports", 0, probed},
		{"-32022, supported without a string", script{"server/discover": say(unsupported(`[5,null,{}]`)), "initialize": say(initialized)}, "", "the server lists none that it supports", 0, probed},
		{"-32022, supported with some strings", script{"server/discover": once(unsupported(`[5,"2026-07-28"]`), discovered)}, mcp.Rev20260728, "", 0, []string{"server/discover", "server/discover"}},
		{"-32022, supported with an empty string", script{"server/discover": say(unsupported(`[""]`)), "initialize": say(initialized)}, "", "no common protocol revision", 0, probed},
		{"code 0", legacyError(0), mcp.Rev20251125, "", 0, old},
		{"-32601", legacyError(-32601), mcp.Rev20251125, "", 0, old},
		{"-32602", legacyError(-32602), mcp.Rev20251125, "", 0, old},
		{"-32600", legacyError(-32600), mcp.Rev20251125, "", 0, old},
		{"-32000", legacyError(-32000), mcp.Rev20251125, "", 0, old},
		{"-32603", legacyError(-32603), mcp.Rev20251125, "", 0, old},
		{"an empty result", script{"server/discover": say(`"result":{}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"a result of another kind", script{"server/discover": say(`"result":{"supportedVersions":"2026-07-28"}`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"result null", script{"server/discover": say(`"result":null`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"result an array", script{"server/discover": say(`"result":[]`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"an error that is a string", script{"server/discover": say(`"error":"unknown method"`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"neither result nor error", script{"server/discover": say(`"x":1`), "initialize": say(initialized)}, mcp.Rev20251125, "", 0, old},
		{"silence", script{"initialize": say(initialized)}, mcp.Rev20251125, "", 3 * time.Second, old},
		{"a late discover wins", script{"server/discover": later(4*time.Second, discovered), "initialize": later(5*time.Second, initialized)}, mcp.Rev20260728, "", 4 * time.Second, both},
		{"a late discover wins over silence", script{"server/discover": later(4*time.Second, discovered)}, mcp.Rev20260728, "", 4 * time.Second, both},
		{"a late discover loses", script{"server/discover": later(6*time.Second, discovered), "initialize": later(time.Second, initialized)}, mcp.Rev20251125, "", 4 * time.Second, old},
		{"a late discover that is an error", script{"server/discover": later(4*time.Second, `"error":{"code":-32601,"message":"no"}`), "initialize": later(5*time.Second, initialized)}, mcp.Rev20251125, "", 8 * time.Second, old},
		{"a late discover after initialize was refused", script{"server/discover": later(5*time.Second, discovered), "initialize": say(unsupported(`["2026-07-28"]`))}, mcp.Rev20260728, "", 5 * time.Second, both},
		{"a late discover after initialize is not known", script{"server/discover": later(5*time.Second, discovered), "initialize": say(`"error":{"code":-32601,"message":"no"}`)}, mcp.Rev20260728, "", 5 * time.Second, both},
		{"a late discover with nothing in common", script{"server/discover": later(5*time.Second, unsupported(`["2099-01-01"]`))}, "", "no common protocol revision", 5 * time.Second, both},
		{"silence, then initialize is refused", script{"initialize": say(`"error":{"code":-32602,"message":"go away"}`)}, "", "go away", 6 * time.Second, both},
		{"dies at once", script{"server/discover": {{die: true}}}, "", "the connection is closed", 0, probed},
		{"dies at initialize", script{"initialize": {{die: true}}}, "", "the connection is closed", 3 * time.Second, both},
		{"initialize is refused", script{"server/discover": say(`"error":{"code":-32601,"message":"no"}`), "initialize": say(`"error":{"code":-32602,"message":"go away"}`)}, "", "go away", 0, both},
		{"initialize is refused by one that speaks something else", script{"server/discover": say(`"error":{"code":-32601,"message":"no"}`), "initialize": say(unsupported(`["2099-01-01"]`))}, "", "2099-01-01", 0, both},
		{"an unknown protocolVersion", script{"server/discover": say(`"error":{"code":-32601,"message":"no"}`), "initialize": say(`"result":{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, "", `unknown protocol revision "2099-01-01"`, 0, both},
		{"initialize answered with garbage", script{"server/discover": say(`"error":{"code":-32601,"message":"no"}`), "initialize": say(`"result":[]`)}, "", "initialize cannot be used", 0, both},
		{"C04, never an answer", script{}, "", "did not answer in time", 30 * time.Second, both},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := jsonrpc.Pipe()
				asked, ended := play(t, c.script, far)
				begin := time.Now()
				p, err := era.Dial(t.Context(), near, able, nil)
				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if c.want == "" {
					if err == nil || !strings.Contains(err.Error(), c.part) || !strings.HasPrefix(err.Error(), "connect to the server: ") {
						t.Errorf("got %v, want %s", err, c.part)
					}
					if _, err := near.Read(); err == nil {
						t.Error("the stream is still open")
					}
				} else if err != nil {
					t.Fatal(err)
				} else {
					if p.Revision() != c.want {
						t.Errorf("speaks %s, want %s", p.Revision(), c.want)
					}
				}
				if got := fmt.Sprint(asked()); got != fmt.Sprint(c.asked) {
					t.Errorf("asked %s, want %v", got, c.asked)
				}
				if p != nil {
					p.Close()
					<-p.Done()
					if err := p.Err(); err != nil {
						t.Errorf("closed in order, and yet %v", err)
					}
				}
				<-ended
			})
		})
	}
}

func TestDialOptions(t *testing.T) {
	for _, c := range []struct {
		name  string
		opts  era.DialOptions
		s     script
		want  mcp.Revision
		took  time.Duration
		asked string
	}{
		{"known modern", era.DialOptions{Known: mcp.Rev20260728}, script{}, mcp.Rev20260728, 0, "[]"},
		{"known legacy", era.DialOptions{Known: mcp.Rev20241105}, script{"initialize": say(`"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, mcp.Rev20241105, 0, "[initialize 2024-11-05 notifications/initialized]"},
		{"short probe", era.DialOptions{ProbeTimeout: time.Second}, script{"initialize": say(initialized)}, mcp.Rev20251125, time.Second, "[server/discover initialize 2025-11-25 notifications/initialized]"},
		{"short connect", era.DialOptions{ConnectTimeout: 5 * time.Second}, script{}, "", 5 * time.Second, "[server/discover initialize 2025-11-25]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := jsonrpc.Pipe()
				asked, ended := play(t, c.s, far)
				begin := time.Now()
				p, err := era.Dial(t.Context(), near, nil, &c.opts)
				if took := time.Since(begin); took != c.took || (err == nil) != (c.want != "") {
					t.Errorf("it took %s and came to %v", took, err)
				}
				if got := fmt.Sprint(asked()); got != c.asked {
					t.Errorf("asked %s, want %s", got, c.asked)
				}
				if p != nil {
					if p.Revision() != c.want {
						t.Errorf("speaks %s", p.Revision())
					}
					p.Close()
				}
				<-ended
			})
		})
	}
}

func TestDialGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		_, ended := play(t, script{}, far)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := era.Dial(ctx, near, able, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-ended
	})
}

// C18: nothing that a modern server asks is answered, whenever it asks; what a
// legacy one asks early is answered once it is known to be one.
func TestRequestsOfTheServer(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprint("modern ", modern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{"server/discover": later(time.Second, discovered)}
				if !modern {
					s = script{"server/discover": later(time.Second, `"error":{"code":-32601,"message":"no"}`), "initialize": say(initialized)}
				}
				near, far := jsonrpc.Pipe()
				asked, ended := play(t, s, far)
				var executed, noises atomic.Int32
				persona := *able
				persona.OnInputRequest = func(context.Context, mcp.InputRequest) (json.RawMessage, error) {
					executed.Add(1)
					return json.RawMessage(`{"roots":[]}`), nil
				}
				if err := far.Write([]byte(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n")); err != nil {
					t.Fatal(err)
				}
				p, err := era.Dial(t.Context(), near, &persona, &era.DialOptions{OnInvalidFrame: func([]byte, error) { noises.Add(1) }})
				if err != nil {
					t.Fatal(err)
				}
				if err := far.Write([]byte(`{"jsonrpc":"2.0","id":"late","method":"roots/list"}` + "\n")); err != nil {
					t.Fatal(err)
				}
				answers := 0
				for _, a := range asked() {
					if strings.HasPrefix(a, "answer") && !strings.Contains(a, `"ping"`) {
						answers++
					}
				}
				want := map[bool]int{true: 0, false: 2}[modern]
				if answers != want || int(executed.Load()) != want || modern && noises.Load() != 2 {
					t.Errorf("%d answers, %d executed, %d noises: %v", answers, executed.Load(), noises.Load(), asked())
				}
				p.Close()
				<-ended
			})
		})
	}
}

// A client need not wait for the answer to initialize before it goes on, as
// one that is a line of shell does not.
func TestPipelinedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := discoverable(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
			time.Sleep(10 * time.Millisecond)
			return text("hi"), nil
		})
		slow := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodDiscover {
				time.Sleep(20 * time.Millisecond)
			}
			return h.Serve(ctx, c)
		})
		s, err := era.NewServer(slow, nil)
		if err != nil {
			t.Fatal(err)
		}
		near, far := jsonrpc.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStream(context.Background(), far) }()
		lines := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}` + "\n"
		if err := near.Write([]byte(lines)); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{`"id":1,"result"`, `"id":2,"result"`} {
			f, err := near.Read()
			if err != nil || !strings.Contains(string(f), id) {
				t.Errorf("got %s, %v; want %s", f, err, id)
			}
		}
		near.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
