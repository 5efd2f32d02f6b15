package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A fakeLogin is a login that the test makes and ends.
type fakeLogin struct {
	mu      sync.Mutex
	id      string
	begun   []string // the last pages
	refused []string
	done    chan struct{}
	err     error
}

func newFakeLogin() *fakeLogin { return &fakeLogin{done: make(chan struct{})} }

// finish ends the login that waits.
func (l *fakeLogin) finish(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.err = id, err
	close(l.done)
	l.done = make(chan struct{})
}

func (l *fakeLogin) ID(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, nil
}

func (l *fakeLogin) Begin(_ context.Context, last string) (LoginPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, last)
	done := l.done
	return LoginPage{URL: "https://gateway.example/login?ticket=T", Wait: func(ctx context.Context) error {
		select {
		case <-done:
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, nil
}

func (l *fakeLogin) Refused(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, id)
	if l.id == id {
		l.id = ""
	}
	return nil
}

func (l *fakeLogin) Changed(ctx context.Context, _ string) error {
	l.mu.Lock()
	done := l.done
	l.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type needsLogin struct{}

func (needsLogin) Error() string       { return "401" }
func (needsLogin) LoginRequired() bool { return true }

var canOpenURLs = mcp.Caller{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}}

// behindLogin is a server that counts its calls, and the gate before it.
type behindLogin struct {
	login *fakeLogin
	gate  mcp.Handler
	calls []*mcp.Call
	err   error // of the next call
	wires []string
}

func newBehindLogin() *behindLogin {
	b := &behindLogin{login: newFakeLogin()}
	next := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		b.calls = append(b.calls, c)
		err := b.err
		b.err = nil
		return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"served"}]}`)}, err
	})
	b.gate = RequireLogin(LoginOptions{Server: "notes", Login: b.login,
		Connect:    func() error { b.wires = append(b.wires, "connect"); return nil },
		Disconnect: func() error { b.wires = append(b.wires, "disconnect"); return nil },
	})(next)
	return b
}

func (b *behindLogin) call(ctx context.Context, change func(*mcp.Call)) (string, error) {
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add"}`), Caller: canOpenURLs}
	if change != nil {
		change(c)
	}
	res, err := b.gate.Serve(ctx, c)
	return string(res.Body), err
}

func asksLogin(t *testing.T, err error) *mcp.InputRequired {
	t.Helper()
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok || len(need.Requests) != 1 || !strings.Contains(string(need.Requests[loginKey].Params), `"url":"https://gateway.example/login?ticket=T"`) {
		t.Fatalf("%v is no request to log in: %+v", err, need)
	}
	return need
}

func accepts(need *mcp.InputRequired) func(*mcp.Call) {
	return func(c *mcp.Call) {
		c.State = need.State
		c.InputResponses = map[string]json.RawMessage{loginKey: json.RawMessage(`{"action":"accept"}`)}
		for key, value := range need.PriorResponses {
			c.InputResponses[key] = value
		}
	}
}

// A call without a login asks, waits and goes on by itself. The server sees
// nothing of it.
func TestCallGoesOnAfterTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehindLogin()
		_, err := b.call(t.Context(), func(c *mcp.Call) {
			c.State = "state of the server"
			c.InputResponses = map[string]json.RawMessage{"other": json.RawMessage(`1`)}
		})
		need := asksLogin(t, err)
		var told []string
		type outcome struct {
			body string
			err  error
		}
		done := make(chan outcome)
		go func() {
			body, err := b.call(t.Context(), func(c *mcp.Call) {
				accepts(need)(c)
				c.OnNotification = func(n mcp.Notification) { told = append(told, n.Method+string(n.Params)) }
			})
			done <- outcome{body, err}
		}()
		synctest.Wait()
		time.Sleep(20 * time.Second)
		b.login.finish("1", nil)
		got := <-done
		if got.err != nil || !strings.Contains(got.body, "served") || len(b.calls) != 1 {
			t.Fatalf("%+v, %d calls", got, len(b.calls))
		}
		c := b.calls[0]
		for key := range c.InputResponses {
			if mcp.IsOwnKey(key) { // which is not sent
				delete(c.InputResponses, key)
			}
		}
		if c.State != "state of the server" || len(c.InputResponses) != 1 || string(c.InputResponses["other"]) != "1" {
			t.Errorf("the server gets state %q and responses %s", c.State, c.InputResponses)
		}
		if want := "[ https://gateway.example/login?ticket=T]"; fmt.Sprint(b.login.begun) != want {
			t.Errorf("the last pages are %q, want %s", b.login.begun, want)
		}
		if len(told) != 1 || told[0] != mcp.NotificationElicitationComplete+`{"elicitationId":"tenon_login"}` {
			t.Errorf("notifications %q", told)
		}
		if fmt.Sprint(b.wires) != "[connect]" {
			t.Errorf("%v", b.wires)
		}
		if _, err := b.call(t.Context(), nil); err != nil || fmt.Sprint(b.wires) != "[connect]" {
			t.Errorf("%v, %v", err, b.wires)
		}
	})
}

// A user who takes long is asked again, and a cancelled call does not wait.
func TestSlowUserIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehindLogin()
		_, err := b.call(t.Context(), nil)
		need := asksLogin(t, err)
		began := time.Now()
		_, err = b.call(t.Context(), accepts(need))
		asksLogin(t, err)
		if took := time.Since(began); took != 50*time.Second {
			t.Errorf("asked again after %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := b.call(ctx, accepts(need)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if len(b.calls) != 0 {
			t.Error("the server was called")
		}
	})
}

// What cannot be asked, was declined or failed is an error that says what to do.
func TestLoginIsNotPossible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehindLogin()
		body, err := b.call(t.Context(), func(c *mcp.Call) { c.Caller = mcp.Caller{} })
		if err != nil || !strings.Contains(body, `"isError":true`) || !strings.Contains(body, "https://gateway.example/login?ticket=T") {
			t.Errorf("a client without URLs: %s, %v", body, err)
		}
		_, err = b.call(t.Context(), func(c *mcp.Call) { c.Caller, c.Method = mcp.Caller{}, mcp.MethodPromptsGet })
		if err == nil || !strings.Contains(err.Error(), "https://gateway.example/login?ticket=T") {
			t.Errorf("a prompt without URLs: %v", err)
		}
		body, err = b.call(t.Context(), func(c *mcp.Call) {
			c.InputResponses = map[string]json.RawMessage{loginKey: json.RawMessage(`{"action":"decline"}`)}
		})
		if err != nil || !strings.Contains(body, "the user declined") {
			t.Errorf("declined: %s, %v", body, err)
		}
		body, err = b.call(t.Context(), func(c *mcp.Call) { c.Refuse(loginKey, errors.New("no browser")) })
		if err != nil || !strings.Contains(body, "did not open the login page") {
			t.Errorf("refused: %s, %v", body, err)
		}
		time.AfterFunc(time.Second, func() { b.login.finish("", errors.New("access_denied")) })
		body, err = b.call(t.Context(), func(c *mcp.Call) {
			c.InputResponses = map[string]json.RawMessage{loginKey: json.RawMessage(`{"action":"accept"}`)}
		})
		if err != nil || !strings.Contains(body, "access_denied") || !strings.Contains(body, `"isError":true`) {
			t.Errorf("failed: %s, %v", body, err)
		}
		if _, err := b.call(t.Context(), func(c *mcp.Call) { c.Method = mcp.MethodComplete }); err == nil || !strings.Contains(err.Error(), LoginTool) {
			t.Errorf("a completion: %v", err)
		}
		if len(b.calls) != 0 {
			t.Error("the server was called")
		}
	})
}

// A login that the server refuses ends, and the user is asked again.
func TestRefusedLoginIsAskedForAgain(t *testing.T) {
	b := newBehindLogin()
	b.login.id = "1"
	b.err = fmt.Errorf("call: %w", needsLogin{})
	_, err := b.call(t.Context(), nil)
	asksLogin(t, err)
	if fmt.Sprint(b.login.refused) != "[1]" || fmt.Sprint(b.wires) != "[connect disconnect]" {
		t.Errorf("refused %q, %q", b.login.refused, b.wires)
	}
	b.login.finish("2", nil)
	if body, err := b.call(t.Context(), nil); err != nil || !strings.Contains(body, "served") || fmt.Sprint(b.wires) != "[connect disconnect connect]" {
		t.Errorf("%s, %v, %q", body, err, b.wires)
	}
	b.err = errors.New("other")
	if _, err := b.call(t.Context(), nil); err == nil || err.Error() != "other" || len(b.login.refused) != 1 {
		t.Errorf("%v, %q", err, b.login.refused)
	}
}

// Before the login the server has one tool and nothing else; the tool logs in.
func TestListsBeforeTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehindLogin()
		for method, want := range map[string]string{
			mcp.MethodDiscover: `"tools"`, mcp.MethodToolsList: LoginTool, mcp.MethodPing: "",
			mcp.MethodPromptsList: `{"prompts":[]}`, mcp.MethodResourcesList: `{"resources":[]}`, mcp.MethodResourceTemplatesList: `{"resourceTemplates":[]}`,
		} {
			body, err := b.call(t.Context(), func(c *mcp.Call) { c.Method, c.Params = method, nil })
			if err != nil || !strings.Contains(body, want) {
				t.Errorf("%s: %s, %v", method, body, err)
			}
		}
		logIn := func(c *mcp.Call) { c.Params = json.RawMessage(`{"name":"tenon_log_in","arguments":{}}`) }
		_, err := b.call(t.Context(), logIn)
		asksLogin(t, err)
		var got []string
		listened := make(chan error)
		go func() {
			_, err := b.call(t.Context(), func(c *mcp.Call) {
				c.Method, c.Params = mcp.MethodSubscriptionsListen, json.RawMessage(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}`)
				c.OnNotification = func(n mcp.Notification) { got = append(got, n.Method+string(n.Params)) }
			})
			listened <- err
		}()
		synctest.Wait()
		if len(got) != 1 || !strings.Contains(got[0], `{"notifications":{"toolsListChanged":true}}`) {
			t.Errorf("notifications %q", got)
		}
		b.login.finish("1", nil)
		if err := <-listened; err == nil {
			t.Error("the subscription ended without an error, so nobody subscribes again")
		}
		if body, err := b.call(t.Context(), logIn); err != nil || !strings.Contains(body, "You are logged in to notes") {
			t.Errorf("%s, %v", body, err)
		}
		if len(b.calls) != 0 {
			t.Errorf("the server was called: %v", b.calls)
		}
	})
}

// Many calls share one page and one change of the connection.
func TestManyCallsShareOneLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		login := newFakeLogin()
		connects := 0
		served := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })
		gate := RequireLogin(LoginOptions{Server: "notes", Login: login, Connect: func() error { time.Sleep(time.Second); connects++; return nil }})(served)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add"}`), Caller: canOpenURLs,
					InputResponses: map[string]json.RawMessage{loginKey: json.RawMessage(`{"action":"accept"}`)}}
				if _, err := gate.Serve(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		login.finish("1", nil)
		wg.Wait()
		if connects != 1 {
			t.Errorf("connected %d times", connects)
		}
	})
}
