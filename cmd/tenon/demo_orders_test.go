package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The order service listens on this machine only, and wants the key that it was
// given.
func TestDemoOrdersServesBehindItsKey(t *testing.T) {
	t.Setenv("ORDERS_API_KEY", "tea")
	url, errs := servingWith(t, "demo", "orders", "--addr", "127.0.0.1:0")
	get := func(key string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSpace(url)+"/orders/T-0042", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", key)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	if status, body := get("tea"); status != 200 || !strings.Contains(body, `"id":"T-0042"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get("coffee"); status != 401 {
		t.Errorf("%d %s", status, body)
	}
	if strings.Contains(errs.String(), "tea") {
		t.Errorf("the key is in the notes: %s", errs.String())
	}
	k := newTasker(t)
	k.words(exitUsage, "demo orders --addr 0.0.0.0:0", "err:--addr must be an address of this machine only")
}
