package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// body makes a server that answers everything with one body.
func body(s string) mcp.Handler {
	return mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(s)}, nil
	})
}

func text(s string) mcp.Result {
	raw, _ := mcp.Marshal(mcp.CallToolResult{Content: mcp.Contents{mcp.Text(s)}})
	return mcp.Result{Body: raw}
}

// warnings collects what a client warns of.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, s)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// wantError reports an error that is missing or does not say each part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

type closer struct {
	mcp.Handler
	closed int
}

func (c *closer) Close() error { c.closed++; return errors.New("closed badly") }

type dialerFunc func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error)

func (f dialerFunc) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	return f(ctx, p)
}

func TestCloseClosesOnlyWhatItDialled(t *testing.T) {
	h := &closer{Handler: body(`{}`)}
	if err := client.New(h, nil).Close(); err != nil || h.closed != 0 {
		t.Errorf("New: Close returned %v and closed the handler %d times", err, h.closed)
	}
	c, err := client.Dial(t.Context(), dialerFunc(func(context.Context, *mcp.ClientProfile) (mcp.Conn, error) { return h, nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantError(t, c.Close(), "closed badly")
	}
	if h.closed != 1 {
		t.Errorf("Dial: the handler was closed %d times, want once", h.closed)
	}
	forward := func(h mcp.Handler) mcp.Handler { return mcp.HandlerFunc(h.Serve) }
	c, err = client.Dial(t.Context(), dialerFunc(func(context.Context, *mcp.ClientProfile) (mcp.Conn, error) { return mcp.ChainConn(h, forward), nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, c.Close(), "closed badly")
	if h.closed != 2 {
		t.Errorf("Dial: the handler behind middleware was closed %d times, want once more", h.closed)
	}
	_, err = client.Dial(t.Context(), dialerFunc(func(context.Context, *mcp.ClientProfile) (mcp.Conn, error) { return nil, errors.New("nobody home") }), nil)
	wantError(t, err, "nobody home")
}

func TestPersonaDeclaresWhatIsSet(t *testing.T) {
	elicit := func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) { return nil, nil }
	sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil }
	tests := []struct {
		name string
		o    *client.Options
		want string
	}{
		{"nil", nil, `{}`},
		{"forms", &client.Options{Elicit: elicit}, `{"elicitation":{}}`},
		{"pages", &client.Options{ElicitURL: elicit}, `{"elicitation":{"url":{}}}`},
		{"both", &client.Options{Elicit: elicit, ElicitURL: elicit}, `{"elicitation":{"form":{},"url":{}}}`},
		{"sampling", &client.Options{Sampling: &client.Sampling{Create: sample}}, `{"sampling":{}}`},
		{"sampling with all", &client.Options{Sampling: &client.Sampling{Create: sample, Tools: true, Context: true}}, `{"sampling":{"context":{},"tools":{}}}`},
		{"sampling without a model", &client.Options{Sampling: &client.Sampling{Tools: true}}, `{}`},
		{"roots", &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}, `{"roots":{"listChanged":true}}`},
		{"extension", &client.Options{Extensions: map[string]json.RawMessage{"com.example/x": json.RawMessage(`{"n":1}`)}}, `{"extensions":{"com.example/x":{"n":1}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.o.Profile()
			got, err := mcp.Marshal(p.Capabilities)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("declares %s, want %s", got, tt.want)
			}
			if p.Client.Name != "tenon-client" || p.Client.Version == "" {
				t.Errorf("names itself %+v", p.Client)
			}
			// Every call says the same.
			seen := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
				inCall, err := mcp.Marshal(c.Caller.Capabilities)
				if err != nil || string(inCall) != tt.want {
					t.Errorf("a call declares %s (%v), want %s", inCall, err, tt.want)
				}
				if c.OnNotification != nil || c.Progress {
					t.Error("a call without listeners has a Side")
				}
				return text("ok"), nil
			})
			if _, err := client.New(seen, tt.o).CallTool(t.Context(), "x", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPersonaAnswersOutsideOfCalls(t *testing.T) {
	o := &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///x"}}, nil }}
	p := o.Profile()
	got, err := p.OnInputRequest(t.Context(), mcp.RootsRequest())
	if err != nil || string(got) != `{"roots":[{"uri":"file:///x"}]}` {
		t.Errorf("roots: %s, %v", got, err)
	}
	_, err = p.OnInputRequest(t.Context(), mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"?"}`)})
	wantError(t, err, "has not declared the capability elicitation")
	_, err = p.OnInputRequest(t.Context(), mcp.InputRequest{Method: "tools/call"})
	wantError(t, err, "not the method of an input request")

	o.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "http://x/"}}, nil }
	_, err = o.Profile().OnInputRequest(t.Context(), mcp.RootsRequest())
	wantError(t, err, "not a file:// URI")
}
