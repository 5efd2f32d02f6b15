package streamclient

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// L9: a server that cannot resume the stream of changes has not lost the session.
// The client opens a new stream and tells its subscriptions that they may have
// missed something. Tenon answers 400; other servers answer 404.
func TestClientGoesOnWhereAStreamCannotBeResumed(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound} {
		t.Run(http.StatusText(status), func(t *testing.T) { goesOnWithoutResuming(t, status) })
	}
}

func goesOnWithoutResuming(t *testing.T, status int) {
	bubble(t, func(t *testing.T, f *far) {
		broken := make(chan struct{})
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case m.Method != "":
				answers(w, m, textResult)
			case r.Method != http.MethodGet:
				w.WriteHeader(http.StatusNoContent)
			case r.Header.Get("Last-Event-ID") != "":
				w.WriteHeader(status)
			case len(f.of(http.MethodGet)) == 1:
				tells(w, "id: 1\ndata:\n\n")
				<-broken
			default:
				tells(w, "id: 2\ndata:\n\n")
				<-r.Context().Done()
			}
		})
		c := connect(t, f.endpoint())
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := c.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: []byte(`{"notifications":{"toolsListChanged":true}}`), OnNotification: func(mcp.Notification) {}})
			ended <- err
		}()
		synctest.Wait()
		close(broken)
		if err := <-ended; err == nil {
			t.Error("the subscription goes on although it may have missed something")
		}
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
		if call := f.of(mcp.MethodToolsCall); len(call) != 1 || call[0].header.Get("Mcp-Session-Id") != "session-1" {
			t.Errorf("the call was made %d times, want once, in the same session", len(call))
		}
	})
}

// L9: a call whose stream cannot be resumed fails alone: the session goes on.
func TestCallThatCannotBeResumedKeepsTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case m.Method == mcp.MethodToolsCall && len(f.of(mcp.MethodToolsCall)) == 1:
				tells(w, "id: 1\ndata:\n\n")
			case m.Method != "":
				answers(w, m, textResult)
			case r.Header.Get("Last-Event-ID") != "":
				fails(w, m, http.StatusBadRequest, mcp.CodeInvalidRequest, "cannot resume after this Last-Event-ID")
			default:
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		})
		c := connect(t, f.endpoint())
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err == nil || !strings.Contains(err.Error(), "cannot resume") {
			t.Errorf("the call ended with %v, want the reason of the server", err)
		}
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
		calls := f.of(mcp.MethodToolsCall)
		if len(calls) != 2 || calls[1].header.Get("Mcp-Session-Id") != "session-1" {
			t.Errorf("%d calls, want a second one in the same session", len(calls))
		}
	})
}

// A cancellation that does not reach the server is warned of: the call that it
// cancels has returned, so no error can carry it.
func TestUndeliveredCancellationIsWarnedOf(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch m.Method {
			case mcp.MethodToolsCall:
				<-r.Context().Done()
			case mcp.NotificationCancelled:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				answers(w, m, textResult)
			}
		}))
		warned := make(chan string, 1)
		c, err := f.endpoint().Connect(t.Context(), &mcp.ClientProfile{OnWarning: func(text string) { warned <- text }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := c.Serve(ctx, callTool("x", `{}`)); err == nil {
			t.Error("the cancelled call succeeded")
		}
		if text := <-warned; !strings.Contains(text, mcp.NotificationCancelled) || !strings.Contains(text, "503") {
			t.Errorf("warned of %q, want the notification and the status", text)
		}
	})
}
