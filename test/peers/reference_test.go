package peers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

// A reference is one of the reference servers, met by Tenon's client.
type reference struct {
	*client.Client
	t         *testing.T
	server    *stdio.Supervised
	recording frames.Recording
	stderr    steps.Collection[string]
	warned    steps.Collection[string]
}

// A way is a transport that a reference server is met over.
type way string

const (
	overStdio     way = "stdio"
	overHTTP      way = "streamable HTTP"
	overOlderHTTP way = "HTTP+SSE"
	overFoundHTTP way = "HTTP+SSE, found out" // by a client that expects streamable HTTP
)

// meet meets a reference server over stdio.
func meet(t *testing.T, name string, args []string, env map[string]string, o client.Options) *reference {
	t.Helper()
	return overStdio.meet(t, name, args, env, o)
}

// meet starts a reference server of the given name and connects to it. At the
// end of the test a server on stdio must end by itself, and everything that
// was sent must fit the schema.
func (w way) meet(t *testing.T, name string, args []string, env map[string]string, o client.Options) *reference {
	t.Helper()
	r := &reference{t: t}
	spec := schemas(t)
	script := filepath.Join("node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	command := append(nodePeer(t, script), args...)
	o.Client = mcp.Implementation{Name: "tenonclient", Version: "1.0.0"}
	o.Warn = r.warned.Add
	var revision func() mcp.Revision
	var dial dialFunc
	if w == overStdio {
		dial = r.supervise(&stdio.Command{Path: command[0], Args: command[1:], Env: env, Stderr: r.stderr.Add}, &revision)
	} else {
		dial = r.overHTTP(w, command, &revision)
	}
	var err error
	if r.Client, err = client.Dial(r.ctx(), dial, &o); err != nil {
		t.Fatalf("%v\nstderr:\n%s", err, strings.Join(r.stderr.Wait(0), "\n"))
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
		sent := checkFrames(t, spec, r.recording.Frames(), spectest.FromClient)
		if sent[r2025c] < 5 {
			t.Errorf("only %d messages were sent: %v", sent[r2025c], sent)
		}
		if t.Failed() {
			t.Logf("warnings: %q\nstderr:\n%s", r.warned.Wait(0), strings.Join(r.stderr.Wait(0), "\n"))
		}
	})
	if got := revision(); got != r2025c {
		t.Errorf("negotiated revision %s, want %s", got, r2025c)
	}
	return r
}

// supervise returns a dialer that starts the server as a child.
func (r *reference) supervise(c *stdio.Command, revision *func() mcp.Revision) dialFunc {
	return func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
		c.Era.Tap = r.recording.Tap
		c.Restart.FirstDelay = 10 * time.Millisecond
		var err error
		if r.server, err = stdio.Supervise(ctx, c, p); err != nil {
			return nil, err
		}
		conn, err := r.server.Connection(ctx)
		if err != nil {
			return nil, err
		}
		*revision = conn.Revision
		return r.server, nil
	}
}

type dialFunc func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error)

func (f dialFunc) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) { return f(ctx, p) }

// ctx bounds a wait for another process.
func (r *reference) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

// call calls a tool that must work, and returns what it says.
func (r *reference) call(tool string, args any) *mcp.CallToolResult {
	r.t.Helper()
	result, err := r.CallTool(r.ctx(), tool, args, nil)
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		r.t.Fatalf("%s failed: %s", tool, result.Content.Text())
	}
	return result
}

// says checks the text that a tool comes to.
func (r *reference) says(tool string, args any, parts ...string) {
	r.t.Helper()
	text := r.call(tool, args).Content.Text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			r.t.Errorf("%s: %q is missing in %q", tool, part, text)
		}
	}
}

// tools returns the names of all tools, sorted.
func (r *reference) tools() []string {
	r.t.Helper()
	tools, err := client.All(r.Tools(r.ctx()))
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// listen hears news until the test ends. It returns when the server has
// acknowledged.
func (r *reference) listen(filter mcp.SubscriptionFilter) *steps.Collection[mcp.Notification] {
	r.t.Helper()
	news, ready := new(steps.Collection[mcp.Notification]), new(steps.Collection[bool])
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- r.Listen(ctx, filter, func(n mcp.Notification) {
			if n.Method == mcp.NotificationSubscriptionsAcknowledged {
				ready.Add(true)
				return
			}
			news.Add(n)
		})
	}()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != context.Canceled {
			r.t.Errorf("listening ended with %v", err)
		}
	})
	if len(patient(ready, 1)) == 0 {
		r.t.Fatal("the subscription was not acknowledged")
	}
	return news
}

// heard checks that a note of a method has come. Others may have come before.
func (r *reference) heard(news *steps.Collection[mcp.Notification], method string) {
	r.t.Helper()
	for n := 1; ; n++ {
		got := patient(news, n)
		if len(got) < n {
			r.t.Fatalf("%s was not heard, only %v", method, got)
		}
		if got[n-1].Method == method {
			return
		}
	}
}

// read reads a resource that is one content.
func (r *reference) read(uri string) mcp.ResourceContents {
	r.t.Helper()
	got, err := r.ReadResource(r.ctx(), uri)
	if err != nil {
		r.t.Fatalf("%s: %v", uri, err)
	}
	if len(got.Contents) != 1 || got.Contents[0].URI != uri {
		r.t.Fatalf("%s: %+v", uri, got.Contents)
	}
	return got.Contents[0]
}

// sent counts the messages of a method that Tenon has sent.
func (r *reference) sent(method string) int {
	n := 0
	for _, f := range r.recording.Frames() {
		if f.Sent && strings.Contains(f.Text, `"method":"`+method+`"`) {
			n++
		}
	}
	return n
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestFilesystem writes, reads and lists with the filesystem server, in a
// directory of its command line and in a root.
func TestFilesystem(t *testing.T) {
	type content struct {
		Content string `json:"content"`
	}
	use := func(r *reference, dir string) {
		t := r.t
		t.Helper()
		file := filepath.Join(dir, "note.txt")
		text := "Grüße\nzweite Zeile\n"
		r.says("write_file", map[string]string{"path": file, "content": text}, "Successfully wrote to "+file)
		if on, err := os.ReadFile(file); err != nil || string(on) != text {
			t.Errorf("on disk: %q, %v", on, err)
		}
		if got, err := client.Call[content](r.ctx(), r.Client, "read_text_file", map[string]string{"path": file}, nil); err != nil || got.Content != text {
			t.Errorf("read_text_file: %q, %v", got.Content, err)
		}
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		r.says("list_directory", map[string]string{"path": dir}, "[FILE] note.txt", "[DIR] sub")
		r.says("edit_file", map[string]any{"path": file, "edits": []map[string]string{{"oldText": "zweite", "newText": "2."}}}, "+2. Zeile")
		outside := filepath.Join(t.TempDir(), "secret")
		got, err := r.CallTool(r.ctx(), "read_text_file", map[string]string{"path": outside}, nil)
		if err != nil || !got.IsError || !strings.Contains(got.Content.Text(), "Access denied") {
			t.Errorf("outside of the directory: %+v, %v", got, err)
		}
	}
	realDir := func(t *testing.T) string {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Run("directory", func(t *testing.T) {
		parallel(t)
		dir := realDir(t)
		r := meet(t, "server-filesystem", []string{dir}, nil, client.Options{})
		equal(t, "tools", r.tools(), []string{"create_directory", "directory_tree", "edit_file", "get_file_info",
			"list_allowed_directories", "list_directory", "list_directory_with_sizes", "move_file", "read_file",
			"read_media_file", "read_multiple_files", "read_text_file", "search_files", "write_file"})
		use(r, dir)
		if _, err := client.All(r.Resources(r.ctx())); !hasCode(err, mcp.CodeMethodNotFound) {
			t.Errorf("the resources of a server that has none: %v", err)
		}
	})
	t.Run("roots", func(t *testing.T) {
		parallel(t)
		dir := realDir(t)
		//lint:ignore SA1019 the test is about this deprecated feature
		roots := func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file://" + filepath.ToSlash(dir), Name: "work"}}, nil
		}
		//lint:ignore SA1019 the test is about this deprecated feature
		r := meet(t, "server-filesystem", nil, nil, client.Options{Roots: roots})
		r.saysOnStderr("Updated allowed directories from MCP roots: 1 valid directories")
		r.says("list_allowed_directories", nil, dir)
		use(r, dir)
	})
}

// saysOnStderr waits for a line on the server's stderr.
func (r *reference) saysOnStderr(line string) {
	r.t.Helper()
	for n := 1; ; n++ {
		got := patient(&r.stderr, n)
		if len(got) < n {
			r.t.Fatalf("%q did not appear on stderr, only %q", line, got)
		}
		if strings.Contains(got[n-1], line) {
			return
		}
	}
}
