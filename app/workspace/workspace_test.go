package workspace

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A stage is a workspace in a test with builtin servers that the test can reach.
type stage struct {
	*Workspace
	mu      sync.Mutex
	servers map[string]*server.Server // the one that runs now
	events  []host.Event
	states  []connect.State
	broken  map[string]bool // cannot be made
}

func raise(t *testing.T, dir string, names ...string) *stage {
	t.Helper()
	s := &stage{servers: map[string]*server.Server{}, broken: map[string]bool{}}
	o := Options{
		Dir: dir,
		Builtin: func(name string, _ url.Values) (connect.Builtin, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.broken[name] {
				return nil, errors.New("it is broken")
			}
			one := server.New(mcp.Implementation{Name: name, Version: "1"}, nil)
			server.AddTool(one, "first", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "1", nil }, nil)
			s.servers[name] = one
			return one, nil
		},
		Event: func(e host.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
		State: func(st connect.State) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.states = append(s.states, st)
		},
	}
	for _, name := range names {
		o.Servers = append(o.Servers, entry(name))
	}
	var err error
	if s.Workspace, err = Open(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func entry(name string) config.Server {
	return config.Server{Name: name, Kind: config.Builtin, Builtin: name}
}

func (s *stage) grow(name, tool string) {
	s.mu.Lock()
	one := s.servers[name]
	s.mu.Unlock()
	server.AddTool(one, tool, "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "2", nil }, nil)
}

// tools lists the tools that the host knows, as server/tool.
func (s *stage) tools(t *testing.T) string {
	var all []string
	for _, tool := range s.Host.Tools(t.Context()) {
		all = append(all, tool.Server+"/"+tool.Tool.Name)
	}
	return strings.Join(all, " ")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// What changes in a server is known to the host: when the server says so, when it
// is started anew, when it is added and removed.
func TestChangesAreHeard(t *testing.T) {
	s := raise(t, t.TempDir(), "a", "b")
	eventually(t, "both are there", func() bool { return s.tools(t) == "a/first b/first" })
	eventually(t, "the news is heard", func() bool { s.grow("a", "second"); return s.tools(t) == "a/first a/second b/first" })
	if err := s.Fleet.Get("a").Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new one has one tool", func() bool { return s.tools(t) == "a/first b/first" })
	eventually(t, "the new one is heard, too", func() bool { s.grow("a", "third"); return s.tools(t) == "a/first a/third b/first" })
	if err := s.Add(entry("c")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another one is there", func() bool { return strings.HasSuffix(s.tools(t), "c/first") })
	if err := s.Add(entry("c")); err == nil {
		t.Error("a name was taken twice")
	}
	if err := s.Remove("c"); err != nil {
		t.Error(err)
	}
	if got := s.tools(t); strings.Contains(got, "c/") {
		t.Errorf("a removed server is still there: %s", got)
	}
	if err := s.Add(entry("c")); err != nil {
		t.Errorf("it cannot come back: %v", err)
	}
	eventually(t, "it is back, and heard", func() bool { s.grow("c", "x"); return strings.HasSuffix(s.tools(t), "c/x") })
}

// A server that cannot be started keeps nobody from anything; what is wrong is
// its state, and Ready says it.
func TestBrokenServer(t *testing.T) {
	s := raise(t, t.TempDir(), "a")
	s.mu.Lock()
	s.broken["b"] = true
	s.mu.Unlock()
	if err := s.Add(entry("b")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := s.Ready(ctx, "a"); err != nil {
		t.Error(err)
	}
	if err := s.Ready(ctx, "b", "nobody"); err == nil || !strings.Contains(err.Error(), "it is broken") || !strings.Contains(err.Error(), "no server named nobody") {
		t.Errorf("Ready says %v", err)
	}
	s.mu.Lock()
	s.broken["b"] = false
	s.mu.Unlock()
	eventually(t, "it is tried again", func() bool { return strings.Contains(s.tools(t), "b/first") })
}

// A direct call goes through the gate and into the log and the session.
func TestDirectCall(t *testing.T) {
	dir := t.TempDir()
	s := raise(t, dir, "a")
	session := s.Host.NewSession()
	go func() {
		eventually(t, "it is asked", func() bool { return len(s.Host.Asks()) == 1 })
		if err := s.Host.Reply(s.Host.Asks()[0].ID, host.Reply{Action: "always"}); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		call, err := session.Call(t.Context(), "a", "first", nil)
		if err != nil || call.Phase != host.CallDone {
			t.Fatalf("%+v, %v", call, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := audit.Verify(AuditFile(dir), nil); r.Lines != 4 || err != nil {
		t.Errorf("the log has %d lines, %v", r.Lines, err)
	}
	// The answer and the session are there the next time.
	later := raise(t, dir, "a")
	again, err := later.Host.Session(session.ID)
	if err != nil || len(again.Messages()) != 6 {
		t.Fatalf("the session: %v", err)
	}
	if call, err := again.Call(t.Context(), "a", "first", nil); err != nil || call.Rule != "Always allowed" {
		t.Errorf("%+v, %v", call, err)
	}
}

// What cannot be opened leaves nothing open (leaktest looks), and says which file
// it is.
func TestCannotOpen(t *testing.T) {
	for _, file := range []string{"tools.json", "sessions.db", "audit.jsonl"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, file), []byte("{broken\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Open(Options{Dir: t.TempDir(), Servers: []config.Server{entry("a"), entry("a")}}); err == nil {
		t.Error("two servers of one name")
	}
}
