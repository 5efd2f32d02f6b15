package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

func TestResourceList(t *testing.T) {
	tree := map[string]string{".gitignore": "*.o\n", "x.o": "", ".git/config": "", "sp ace.md": "", "link": "->a/0.txt"}
	want := []string{".gitignore", "sp ace.md"}
	for i := range 25 {
		for _, dir := range []string{"a", "a.b", "a/c"} { // a/c comes before a.b in a walk, and after it as text
			name := fmt.Sprintf("%s/%d.txt", dir, i)
			tree[name] = "x"
			want = append(want, name)
		}
	}
	b := newBench(t, Config{PageSize: 10}, tree)
	mcptest.EveryEra(t, b.server, func(t *testing.T, h mcp.Handler) {
		c := client.New(h, withoutRoots)
		defer c.Close()
		list, err := client.All(c.Resources(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.Name)
			if read, err := c.ReadResource(t.Context(), r.URI); err != nil || int64(len(read.Contents[0].Text)) != *r.Size {
				t.Errorf("%s: %v", r.URI, err)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("listed\n%v, want\n%v", got, want)
		}
	})
	for _, cursor := range []string{"x", "", "MC9h", "OTkvYQ", "MC8uLi94"} {
		_, err := b.server.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesList, Params: json.RawMessage(`{"cursor":` + quoted(cursor) + `}`)})
		if good := cursor == "MC9h"; (err == nil) != good {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestResourceRead(t *testing.T) {
	b := newBench(t, Config{MaxFile: 100}, map[string]string{"a.txt": "text", "noext": "text", "b.bin": "\x00\x01", "large": strings.Repeat("x", 200), "latin1.txt": "caf\xe9", "sub/x": ""})
	for name, want := range map[string]string{
		"a.txt": "text", "noext": "text", "b.bin": "BLOB \x00\x01", "latin1.txt": "BLOB caf\xe9", "large": "…at most 100 can be read at once",
		"missing": "…no resource has the URI", "sub": "…is a directory",
	} {
		expect(t, name, b.readResource("file://"+b.path(name)), want)
	}
}

func TestPathCompletion(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"alpha.txt": "", "alps/x": "", "beta": "", "out": "->/etc"})
	mcptest.EveryEra(t, b.server, func(t *testing.T, h mcp.Handler) {
		c := client.New(h, withoutRoots)
		defer c.Close()
		for value, want := range map[string]string{
			"": "ROOT/", "ROOT": "ROOT/", "ROOT/al": "ROOT/alpha.txt ROOT/alps/", "ROOT/": "ROOT/ ROOT/alpha.txt ROOT/alps/ ROOT/beta", "ROOT/alps/": "ROOT/alps/x",
			"ROOT/out/": "", "/etc/": "", "ROOT/../": "", "ROOT/zzz": "",
		} {
			got, err := c.Complete(t.Context(), mcp.CompleteParams{Ref: mcp.ResourceRef(template), Argument: mcp.CompletionArgument{Name: "path", Value: b.fill(value)}})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, value, strings.Join(got.Values, " "), b.fill(want))
		}
	})
}

// news gathers what is heard.
type news struct {
	mu    sync.Mutex
	notes []string
}

func (n *news) hear(note mcp.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, strings.TrimPrefix(note.Method, "notifications/")+string(note.Params))
}

func (n *news) count(part string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := 0
	for _, note := range n.notes {
		if strings.Contains(note, part) {
			found++
		}
	}
	return found
}

// wait waits until something was heard. Files change in real time.
func (n *news) wait(t *testing.T, part string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); n.count(part) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			n.mu.Lock()
			defer n.mu.Unlock()
			t.Fatalf("%q was not heard, only %q", part, n.notes)
		}
	}
}

func (n *news) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = nil
}

func TestSubscriptions(t *testing.T) {
	b := newBench(t, Config{Ask: AskNever}, map[string]string{"watched.txt": "1", "other.txt": "1", "sub/deep.txt": "1", "link.txt": "->sub/deep.txt"})
	mcptest.EveryEra(t, b.server, func(t *testing.T, h mcp.Handler) {
		c := client.New(h, withoutRoots)
		defer c.Close()
		uri := func(name string) string { return "file://" + b.path(name) }
		var n news
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			c.Listen(ctx, mcp.SubscriptionFilter{ResourcesListChanged: true, ResourceSubscriptions: []string{uri("watched.txt"), uri("later.txt"), uri("link.txt"), "file:///etc/passwd"}}, n.hear)
		})
		defer done.Wait()
		defer cancel()
		n.wait(t, "acknowledged")

		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		n.forget()
		began := time.Now()
		for i := range 50 { // many changes, few announcements
			write("watched.txt", fmt.Sprint(i))
		}
		n.wait(t, `updated{"uri":"`+uri("watched.txt"))
		if got := n.count("updated"); got > max(10, int(time.Since(began)/changeDelay)+1) { // more only where there was time for more
			t.Errorf("50 changes made %d announcements", got)
		}
		n.forget()
		write("sub/deep.txt", "2")
		n.wait(t, `updated{"uri":"`+uri("link.txt"))

		n.forget()
		write("later.txt", "new")
		n.wait(t, `updated{"uri":"`+uri("later.txt"))
		n.wait(t, "resources/list_changed")
		n.forget()
		if err := os.Remove(b.path("later.txt")); err != nil {
			t.Fatal(err)
		}
		n.wait(t, `updated{"uri":"`+uri("later.txt"))

		n.forget()
		edit := []byte(`{"path":"watched.txt","edits":[{"oldText":"49","newText":"edited"}]}`)
		if r, err := c.CallTool(t.Context(), "edit_file", edit, nil); err != nil || r.IsError {
			t.Fatal(r, err)
		}
		n.wait(t, `updated{"uri":"`+uri("watched.txt"))
		if n.count("other.txt")+n.count("passwd") > 0 {
			t.Errorf("news of what was not subscribed to: %q", n.notes)
		}
	})
	// Whoever has stopped listening costs nothing any more.
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b.watch.mu.Lock()
		dirs, uris := len(b.watch.dirs), len(b.watch.uris)
		b.watch.mu.Unlock()
		if dirs == 0 && uris == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d directories and %d files are still watched", dirs, uris)
		}
	}
}
