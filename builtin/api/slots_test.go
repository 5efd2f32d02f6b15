package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Neither a call that waits before a repetition nor one that waits for its token
// keeps others from sending requests.
func TestWaitingCallsDoNotBlockOthers(t *testing.T) {
	arrived := make(chan struct{}, 10)
	hang := make(chan struct{})
	defer close(hang)
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE, concurrency: 1}
auth: {kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}
tools:
  slow: {description: d, request: GET /slow}
  get: {description: d, request: GET /get}
`, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			if form.Get("subject_token") == "bobs-token" {
				arrived <- struct{}{}
				select {
				case <-hang:
				case <-r.Context().Done():
				}
			}
			reply(w, 200, `{"access_token":"marker-access","token_type":"Bearer","expires_in":3600}`)
		case "/slow":
			arrived <- struct{}{}
			w.Header().Set("Retry-After", "29")
			reply(w, 503, `{}`)
		default:
			reply(w, 200, `{"ok":true}`)
		}
	})
	for name, blocked := range map[string][2]string{"repetition": {"slow", "eves-token"}, "token": {"get", "bobs-token"}} {
		ctx, cancel := context.WithCancel(tokenContext(t, blocked[1]))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.serve.Serve(ctx, toolCall(blocked[0], "{}", &mcp.Principal{ID: blocked[1]}))
		}()
		<-arrived
		other, stop := context.WithTimeout(tokenContext(t, "adas-token"), 25*time.Second)
		if _, err := w.serve.Serve(other, toolCall("get", "{}", &mcp.Principal{ID: "ada"})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stop()
		select {
		case <-ended:
			t.Errorf("%s: the other call has ended", name)
		default:
		}
		cancel()
		<-ended
	}
}
