package streamclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

const acknowledged = `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}` + "\n\n"

func listenCall(side func(mcp.Notification)) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), OnNotification: side}
}

// beats keeps a stream alive n times and then says nothing, until the client
// goes away.
func beats(w http.ResponseWriter, r *http.Request, n int, every time.Duration) (last time.Time) {
	for range n {
		select {
		case <-time.After(every):
			tells(w, ":\n\n")
		case <-r.Context().Done():
		}
	}
	last = time.Now()
	<-r.Context().Done()
	return last
}

// A subscription whose server kept it alive, and no longer does, is broken
// within 90 s (L22); a server that sends comments less often has more time.
func TestClientNoticesSilentSubscription(t *testing.T) {
	for every, most := range map[time.Duration]time.Duration{
		25 * time.Second: 90 * time.Second,
		2 * time.Minute:  6*time.Minute + time.Second,
	} {
		bubble(t, func(t *testing.T, f *far) {
			var last time.Time
			f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				tells(w, acknowledged)
				last = beats(w, r, 3, every)
			})
			_, err := connect(t, f.endpoint()).Serve(t.Context(), listenCall(func(mcp.Notification) {}))
			if ended, ok := errors.AsType[*StreamEndedError](err); !ok || !errors.Is(ended, errIdle) {
				t.Errorf("every %v: %v", every, err)
			}
			synctest.Wait()
			if took := time.Since(last); took > most || took < 3*every-time.Second {
				t.Errorf("every %v: noticed after %v", every, took)
			}
		})
	}
}

// A server that sends no comments, or greets with one, may be silent for as
// long as it likes.
func TestClientBearsSilenceWithoutPromise(t *testing.T) {
	for _, greeting := range []string{"", ": welcome\n\n"} {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				tells(w, greeting+acknowledged)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if _, err := connect(t, f.endpoint()).Serve(ctx, listenCall(func(mcp.Notification) {})); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q: %v", greeting, err)
			}
		})
	}
}

// The stream of an older server that has become silent is opened again.
func TestClientReopensSilentStream(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if r.Method == http.MethodGet {
				tells(w, "id: 1\ndata:\n\n")
				beats(w, r, 3, 25*time.Second)
			}
		})
		connect(t, f.endpoint())
		time.Sleep(3*25*time.Second + 92*time.Second)
		if n := len(f.of(http.MethodGet)); n != 2 {
			t.Errorf("the stream was opened %d times", n)
		}
	})
}
