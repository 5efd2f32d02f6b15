package credential

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

// A refresh token is for one use. A call that is cancelled while it is used does not
// lose the new one.
func TestACancelledCallKeepsTheRefreshedToken(t *testing.T) {
	var refreshes atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if refreshes.Add(1) > 1 || r.FormValue("refresh_token") != "one" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		cancel()
		fmt.Fprint(w, `{"access_token":"new","refresh_token":"two","token_type":"bearer"}`)
	}))
	defer srv.Close()
	same := func(s string) string { return s }
	store := &tokens.Memory{}
	auth := &spec.Auth{Kind: "oauth2", Grant: "device", TokenURL: srv.URL, ClientID: "id"}
	c := newOAuth(auth, &Options{Client: srv.Client(), Tokens: store, Service: "Test"}, same, same)
	if err := c.save(t.Context(), c.account(t.Context(), nil), &token{Refresh: "one"}); err != nil {
		t.Fatal(err)
	}
	c.Ready(ctx, nil) // the call is cancelled
	for _, process := range []*oauth{c, newOAuth(auth, &Options{Client: srv.Client(), Tokens: store, Service: "Test"}, same, same)} {
		got, err := process.Ready(t.Context(), nil)
		if err != nil || got.(*token).Access != "new" || got.(*token).Refresh != "two" {
			t.Fatalf("%v %v after %d refreshes", got, err, refreshes.Load())
		}
	}
}
