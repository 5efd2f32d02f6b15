package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) {
	edittest.Main(jobs)
	if child := os.Getenv("FS_TEST_CHILD"); child != "" {
		children[child]()
		return
	}
	leaktest.Main(m)
}

// A bench is a server over a directory of its own.
type bench struct {
	*files
	t    testing.TB
	dir  string // an allowed directory
	near string // the directory above it, which is not allowed
}

// newBench makes a directory with these files in it. A name that ends with a
// slash is a directory, and a text that begins with -> makes a link.
func newBench(t testing.TB, c Config, tree map[string]string) *bench {
	t.Helper()
	near, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, near: near, dir: filepath.Join(near, "root")}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plant(t, b.dir, tree)
	if c.Roots == nil {
		c.Roots = []string{b.dir}
	}
	if b.files, err = open(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func plant(t testing.TB, dir string, tree map[string]string) {
	t.Helper()
	for name, text := range tree {
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil {
			if target, ok := strings.CutPrefix(text, "->"); ok {
				err = os.Symlink(target, full)
			} else if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(full, 0o755)
			} else {
				err = os.WriteFile(full, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// have returns what is in a file, or why it cannot be read.
func (b *bench) have(name string) string {
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		return plain(err).Error()
	}
	return string(data)
}

// call calls a tool as a client that cannot answer anything does. ROOT in the
// arguments stands for the allowed directory, and NEAR for the one above it.
func (b *bench) call(tool, args string, change ...func(*mcp.Call)) *mcp.CallToolResult {
	b.t.Helper()
	return callOn(b.t, b.server, tool, b.fill(args), change...)
}

func (b *bench) fill(s string) string {
	return strings.NewReplacer("ROOT", b.dir, "NEAR", b.near).Replace(s)
}

// says is the text of a call, with ERROR before it if it failed.
func (b *bench) says(tool, args string, change ...func(*mcp.Call)) string {
	b.t.Helper()
	return said(b.call(tool, args, change...))
}

func said(r *mcp.CallToolResult) string {
	if r.IsError {
		return "ERROR " + r.Content.Text()
	}
	return r.Content.Text()
}

func callOn(t testing.TB, h mcp.Handler, tool, args string, change ...func(*mcp.Call)) *mcp.CallToolResult {
	t.Helper()
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))}
	for _, f := range change {
		f(c)
	}
	res, err := h.Serve(context.WithoutCancel(t.Context()), c)
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text("PROTOCOL " + err.Error())}}
	}
	r, err := mcp.DecodeCallToolResult(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expect compares exactly, or by a part if want begins with an ellipsis.
func expect(t testing.TB, what, got, want string) {
	t.Helper()
	part, some := strings.CutPrefix(want, "…")
	if some && strings.Contains(got, part) || got == want {
		return
	}
	t.Errorf("%s:\n got %q\nwant %q", what, got, want)
}

// A row is a call and what it comes to.
type row struct{ tool, args, want string }

func (b *bench) run(rows []row) {
	b.t.Helper()
	for _, r := range rows {
		expect(b.t, r.tool+" "+r.args, b.says(r.tool, r.args), b.fill(r.want))
	}
}

// quoted is a Go string as JSON.
func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
