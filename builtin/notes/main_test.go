package notes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) {
	edittest.Main(jobs)
	leaktest.Main(m)
}

// files writes a vault.
func files(t testing.TB, dir string, all map[string]string) {
	t.Helper()
	for name, text := range all {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// serve serves a vault until the test ends. It returns when all notes are
// listed.
func serve(t testing.TB, c Config) *server.Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	call := &mcp.Call{Method: mcp.MethodResourcesList}
	call.Caller.Principal = &mcp.Principal{ID: "waits"}
	if _, err := s.Serve(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	return s
}

func vaultOf(t testing.TB, all map[string]string) (dir string, s *server.Server) {
	t.Helper()
	dir = t.TempDir()
	files(t, dir, all)
	return dir, serve(t, Config{Vault: dir})
}

// A reply is what a tool came to.
type reply struct {
	Text       string
	Structured string
	Failed     bool
}

// use calls a tool in memory.
func use(t testing.TB, h mcp.Handler, who, tool, args string) reply {
	t.Helper()
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))}
	if who != "" {
		c.Caller.Principal = &mcp.Principal{ID: who}
	}
	res, err := h.Serve(t.Context(), c)
	if err != nil {
		return reply{Text: err.Error(), Failed: true}
	}
	return decode(t, res.Body)
}

func decode(t testing.TB, body json.RawMessage) reply {
	t.Helper()
	r, err := mcp.DecodeCallToolResult(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	out := reply{Structured: string(r.StructuredContent), Failed: r.IsError}
	for _, c := range r.Content {
		out.Text += c.(*mcp.TextContent).Text
	}
	return out
}

// field reads one member of a structured result.
func (r reply) field(t testing.TB, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(r.Structured), &all); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return fmt.Sprint(all[name])
}

// paths are those of the notes in a structured result.
func (r reply) paths(t testing.TB) string {
	t.Helper()
	var out struct {
		Notes []struct {
			Path string `json:"path"`
		} `json:"notes"`
	}
	if err := json.Unmarshal([]byte(r.Structured), &out); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	var all []string
	for _, n := range out.Notes {
		all = append(all, n.Path)
	}
	return strings.Join(all, ", ")
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func contains(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s:\n got %q\nwant …%q…", what, got, want)
	}
}

func fileText(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// eventually waits for something that another program, or the system, does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it never happened: %s", what)
}

func versionOfNote(t testing.TB, h mcp.Handler, who, name string) string {
	t.Helper()
	r := use(t, h, who, "read_note", fmt.Sprintf(`{"path":%q}`, name))
	if r.Failed {
		t.Fatal(r.Text)
	}
	return r.field(t, "version")
}
