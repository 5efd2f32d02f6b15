package login

import (
	"errors"
	"net/url"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/storetest"
)

// Replicas that find the same token refused refresh it once. While
// they cannot agree, none refreshes.
func TestReplicasRefreshOneToken(t *testing.T) {
	w := newWorld(t)
	store := &storetest.Switch{Store: cluster.NewMemory()}
	keys, err := sealed.ParseKeys(sealed.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	keptToken(t, w, &sealed.Cluster{Store: store, Keys: keys}, nil)
	u, err := url.Parse(w.url())
	if err != nil {
		t.Fatal(err)
	}
	replica := func() *endpoint {
		tr := New(&Options{Store: &sealed.Cluster{Store: store, Keys: keys}, NoLogin: errors.New("nobody is here")})
		t.Cleanup(tr.CloseIdleConnections)
		return tr.endpoint(u)
	}
	before, err := replica().stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const replicas = 8
	var wg sync.WaitGroup
	var got [replicas]*token
	for i := range replicas {
		p := replica()
		wg.Go(func() {
			var err error
			if got[i], err = p.refreshOnly(t.Context(), before); err != nil || got[i] == nil {
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := w.count("issuer POST /token"); n != 1 {
		t.Errorf("%d refreshes for one token, want 1", n)
	}
	for i := range replicas {
		if got[i] != nil && got[i].Access != got[0].Access {
			t.Errorf("replica %d has another token than the first", i)
		}
	}
	store.Turn(false)
	if _, err := replica().refreshOnly(t.Context(), got[0]); err == nil {
		t.Error("a token is refreshed though the store is away")
	}
	if n := w.count("issuer POST /token"); n != 1 {
		t.Errorf("%d refreshes, want 1: one was made while the store was away", n)
	}
}
