package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

const workers = 50 // of each user

type echo struct {
	Nonce string `json:"nonce" doc:"what to say back"`
}

type echoed struct {
	Who   string `json:"who"`
	Nonce string `json:"nonce"`
}

// desk is a server where everybody has something of their own: a name, a page
// that may be kept by its reader for a moment, and an inbox. Served counts the
// pages that were asked for.
func desk(served *atomic.Int64) *server.Server {
	s := server.New(mcp.Implementation{Name: "desk", Version: "1.0"}, &server.Options{
		ChangeDelay: time.Millisecond,
		Allow: func(c *mcp.Caller, f server.Feature) bool {
			owner, isInbox := strings.CutPrefix(f.Name, "inbox://")
			return !isInbox || c.Principal != nil && c.Principal.ID == owner
		},
	})
	server.AddTool(s, "echo", "says who calls", func(_ context.Context, c *mcp.Call, in echo) (echoed, error) {
		server.Progress(c, 1, 2, c.Caller.Principal.ID+" "+in.Nonce)
		return echoed{c.Caller.Principal.ID, in.Nonce}, nil
	}, nil)
	page := func(_ context.Context, c *mcp.Call, uri string, _ map[string]string) ([]mcp.ResourceContents, error) {
		served.Add(1)
		return server.TextResource("text/plain", c.Caller.Principal.ID), nil
	}
	must(s.AddResource(mcp.Resource{Name: "me", URI: "page://me"}, page, &server.ResourceOptions{Cache: mcp.Cache{TTL: time.Second, Scope: mcp.ScopePrivate}}))
	for _, name := range []string{"ada", "eve"} {
		must(s.AddResource(mcp.Resource{Name: name, URI: "inbox://" + name}, page, nil))
	}
	return s
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A gateway hands each call to the connection of whoever makes it.
type gateway map[string]mcp.Handler

// Serve implements mcp.Handler.
func (g gateway) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return g[c.Caller.Principal.ID].Serve(ctx, c)
}

// Two users log in with a browser each. Then 50 workers of each call one server
// at the same time, 100,000 calls in all, most of them of the newest revision
// and some in sessions of an older one. The users share one client and so one
// cache, whose entries are private; both ask to hear of both inboxes. Nobody
// may ever see anything of the other.
func TestNothingCrosses(t *testing.T) {
	t.Run("2026-07-28", func(t *testing.T) { nothingCrosses(t, "2026-07-28", 80_000) })
	t.Run("2025-11-25", func(t *testing.T) { nothingCrosses(t, "2025-11-25", 20_000) })
}

func nothingCrosses(t *testing.T, revision mcp.Revision, callsInAll int) {
	p := startProvider(t, told{Alg: "RS256"}) // quicker to verify than ES256
	var served atomic.Int64
	s := desk(&served)
	url := protected(t, p, "/mcp", s, nil)
	gate := gateway{}
	for _, name := range []string{"ada", "eve"} {
		who := newPerson(t, name)
		conn := connect(t, url, revision, &authlogin.Options{Loopback: who.loopback()})
		if conn.Revision() != revision {
			t.Fatalf("%s is spoken instead of %s", conn.Revision(), revision)
		}
		gate[name] = conn
		who.seen(t, 1)
	}
	shared := client.New(gate, nil)
	defer shared.Close()

	var wrong atomic.Int64
	crossed := func(format string, args ...any) {
		if wrong.Add(1) <= 10 {
			t.Errorf(format, args...)
		}
	}
	var all, listeners sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	users := map[string]*user{}
	for name := range gate {
		u := &user{name: name, crossed: crossed, client: shared.As(&mcp.Principal{ID: name, Issuer: p.issuer}), listening: make(chan struct{})}
		users[name] = u
		listeners.Go(func() { u.listen(ctx) })
		select {
		case <-u.listening:
		case <-time.After(time.Minute):
			t.Fatal("nobody confirms the subscription")
		}
	}
	began := time.Now()
	for _, u := range users {
		for worker := range workers {
			all.Go(func() {
				for i := range callsInAll / len(users) / workers {
					u.call(ctx, worker, i)
					if i%50 == 0 {
						s.ResourceUpdated("inbox://" + u.name)
					}
				}
			})
		}
	}
	all.Wait()
	took := time.Since(began)
	for _, u := range users { // one more, which must arrive
		u.heardOne(t, func() { s.ResourceUpdated("inbox://" + u.name) })
	}
	stop()
	listeners.Wait()
	calls, read, progress := 0, 0, 0
	for _, u := range users {
		calls += int(u.calls.Load())
		read += int(u.read.Load())
		progress += int(u.progress.Load())
		t.Logf("%s: %d calls, %d pages read, %d reports of progress, %d notes", u.name, u.calls.Load(), u.read.Load(), u.progress.Load(), u.heard.Load())
	}
	if calls != callsInAll || progress == 0 || wrong.Load() != 0 {
		t.Errorf("%d calls, %d reports of progress, %d wrong", calls, progress, wrong.Load())
	}
	if n := int(served.Load()); revision == "2026-07-28" && (n == 0 || read-n < 1000) {
		t.Errorf("%d of %d pages came from the server: the cache was hardly used", n, read)
	}
	t.Logf("%d pages came from the server, %d from the cache", served.Load(), read-int(served.Load()))
	t.Logf("%d calls in %v", calls, took.Round(time.Millisecond))
}

// A user makes calls and notes whatever is not theirs.
type user struct {
	name      string
	client    *client.Client
	crossed   func(format string, args ...any)
	listening chan struct{}

	calls, read, progress, heard atomic.Int64
}

// call makes one call: an echo, an echo with progress, or a page that may come
// from the cache.
func (u *user) call(ctx context.Context, worker, i int) {
	u.calls.Add(1)
	nonce := fmt.Sprint(u.name, "-", worker, "-", i)
	switch i % 4 {
	case 0:
		u.read.Add(1)
		res, err := u.client.ReadResource(ctx, "page://me")
		if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != u.name {
			u.crossed("%s read %+v, %v", u.name, res, err)
		}
	case 1:
		o := &client.CallOptions{Progress: func(report mcp.ProgressParams) {
			u.progress.Add(1)
			if report.Message != u.name+" "+nonce {
				u.crossed("%s heard the progress of %q", nonce, report.Message)
			}
		}}
		res, err := u.client.CallTool(ctx, "echo", echo{nonce}, o)
		var got echoed
		if err == nil {
			err = json.Unmarshal(res.StructuredContent, &got)
		}
		if err != nil || got != (echoed{u.name, nonce}) {
			u.crossed("%s got %+v, %v", nonce, got, err)
		}
	default:
		got, err := client.Call[echoed](ctx, u.client, "echo", echo{nonce}, nil)
		if err != nil || got != (echoed{u.name, nonce}) {
			u.crossed("%s got %+v, %v", nonce, got, err)
		}
	}
}

// listen asks for news of both inboxes.
func (u *user) listen(ctx context.Context) {
	var once sync.Once
	err := u.client.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"inbox://ada", "inbox://eve"}}, func(n mcp.Notification) {
		switch n.Method {
		case mcp.NotificationSubscriptionsAcknowledged:
			once.Do(func() { close(u.listening) })
		case mcp.NotificationResourceUpdated:
			u.heard.Add(1)
			var params struct{ URI string }
			if err := json.Unmarshal(n.Params, &params); err != nil || params.URI != "inbox://"+u.name {
				u.crossed("%s heard %s", u.name, n.Params)
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		u.crossed("%s listens no more: %v", u.name, err)
	}
}

// heardOne does something and waits until a note was heard.
func (u *user) heardOne(t *testing.T, do func()) {
	t.Helper()
	before := u.heard.Load()
	do()
	for range 3000 {
		if u.heard.Load() > before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s heard nothing any more", u.name)
}
