package weblogin

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
)

// A replicatedWorld has several gateways behind one address, which sends each
// request to the next one.
type replicatedWorld struct {
	*world
	services []*Service
	replicas []*cluster.Replica
	next     atomic.Int32
}

func newReplicatedWorld(t *testing.T, n int) *replicatedWorld {
	t.Helper()
	w := &replicatedWorld{world: newWorld(t, "issuer")}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.services[int(w.next.Add(1))%len(w.services)].ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	store := cluster.NewMemory()
	t.Cleanup(func() { store.Close() })
	keys, err := sealed.ParseKeys(sealed.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	for range n {
		r, err := cluster.Join(t.Context(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(&Options{Origin: front.URL, Store: &sealed.Cluster{Store: store, Keys: keys}, Replica: r, Log: quiet,
			Identity: &Identity{Identify: w.identify, Resource: front.URL + "/mcp", Issuers: []string{w.own.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		r.Handle(s)
		t.Cleanup(func() { s.Close(); r.Close() })
		w.services, w.replicas = append(w.services, s), append(w.replicas, r)
	}
	return w
}

// at returns the login of a user at one replica.
func (w *replicatedWorld) at(replica int, who *mcp.Principal) *Login {
	return w.services[replica].Of(Server{Name: "notes", URL: w.server.URL + "/mcp", Login: login.Options{Base: w.server.Client().Transport}}, who)
}

// A user logs in although each page is requested from another replica, and a call
// at any replica waits for that login.
func TestUsersLogInAtReplicas(t *testing.T) {
	w := newReplicatedWorld(t, 3)
	for first := range w.services {
		name := []string{"alice", "bob", "carol"}[first]
		who := &mcp.Principal{ID: name, Issuer: w.own.URL}
		page := begin(t, w.at(first, who))
		waited := make(chan error, len(w.services))
		for i := range w.services {
			p := begin(t, w.at(i, who))
			if p.URL != page.URL {
				t.Fatalf("replica %d has another page for the same login", i)
			}
			go func() { waited <- p.Wait(soon(t)) }()
		}
		b := newBrowser(t, name)
		for range 3 {
			if status, text := b.open(page.URL); status != 200 || !strings.Contains(text, "Log in to notes") {
				t.Fatalf("the page: %d %s", status, text)
			}
		}
		if status, text := b.confirm(page.URL, nil); status != 200 || !strings.Contains(text, "Logged in to notes") {
			t.Fatalf("the end: %d %s", status, text)
		}
		for i := range w.services {
			if err := <-waited; err != nil {
				t.Errorf("a call: %v", err)
			}
			wantID(t, w.at(i, who), true)
		}
	}
}

// Another person cannot finish a login at any replica, and calls at all replicas
// learn that it has failed.
func TestLoginFailsAtReplicas(t *testing.T) {
	w := newReplicatedWorld(t, 2)
	mallory := &mcp.Principal{ID: "mallory", Issuer: w.own.URL}
	page, elsewhere := begin(t, w.at(0, mallory)), begin(t, w.at(1, mallory))
	status, text := newBrowser(t, "alice").confirm(page.URL, nil)
	if status == 200 && strings.Contains(text, "Logged in") {
		t.Fatalf("alice has logged in for mallory: %s", text)
	}
	for i, p := range []func() error{func() error { return page.Wait(soon(t)) }, func() error { return elsewhere.Wait(soon(t)) }} {
		if err := p(); err == nil || !strings.Contains(err.Error(), errOtherUser.Error()) {
			t.Errorf("a call at replica %d: %v", i, err)
		}
	}
	again, err := w.at(1, mallory).Begin(t.Context(), page.URL) // the call asks again
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Wait(soon(t)); again.URL != page.URL || err == nil {
		t.Errorf("the call that asked goes on: %s, %v", again.URL, err)
	}
	if next := begin(t, w.at(1, mallory)); next.URL == page.URL {
		t.Error("a new call gets the page of the failed login")
	}
}

// If the replica of a login stops, its page has expired, a call that waits fails,
// and the next one begins another login.
func TestReplicaStopsDuringLogin(t *testing.T) {
	w := newReplicatedWorld(t, 2)
	alice := &mcp.Principal{ID: "alice", Issuer: w.own.URL}
	page, elsewhere := begin(t, w.at(0, alice)), begin(t, w.at(1, alice))
	w.replicas[0].Close()
	w.services = w.services[1:]
	if err := elsewhere.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "has stopped") {
		t.Errorf("a call that waits: %v", err)
	}
	b := newBrowser(t, "alice")
	if status, _ := b.open(page.URL); status != http.StatusGone {
		t.Errorf("the page of the stopped replica: %d", status)
	}
	next := begin(t, w.at(0, alice))
	if status, text := b.confirm(next.URL, nil); status != 200 || !strings.Contains(text, "Logged in to notes") {
		t.Errorf("another login: %d %s", status, text)
	}
	if err := next.Wait(soon(t)); err != nil {
		t.Error(err)
	}
}
