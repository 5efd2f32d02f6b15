package fs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// answering makes calls as a client does whose person answers all questions in
// this way. What was asked is added to the list.
func answering(h mcp.Handler, answer string, asked *[]string) mcp.Handler {
	return mcp.HandleInput(h, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			return nil, err
		}
		*asked = append(*asked, p.Message)
		return json.RawMessage(answer), nil
	}, 0)
}

func canElicit(c *mcp.Call) {
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
}

func TestAsking(t *testing.T) {
	const agreed, unticked, declined = `{"action":"accept","content":{"yes":true}}`, `{"action":"accept","content":{"yes":false}}`, `{"action":"decline"}`
	change := `{"path":"f.txt","edits":[{"oldText":"old","newText":"new"}]}`
	for _, r := range []struct {
		ask                Ask
		tool, args, answer string
		asked              string
		want               string
		file               string
	}{
		{"", "write_file", `{"path":"f.txt","content":"new"}`, agreed, "Overwrite ROOT/f.txt (3 bytes) with 3 bytes of new text?", "Successfully wrote to f.txt", "new"},
		{"", "write_file", `{"path":"f.txt","content":"new"}`, unticked, "Overwrite", "…the user declined, nothing was changed", "old"},
		{"", "write_file", `{"path":"f.txt","content":"new"}`, declined, "Overwrite", "…declined", "old"},
		{"", "write_file", `{"path":"f.txt","content":"new","confirm":true}`, declined, "Overwrite", "…declined", "old"},
		{"", "write_file", `{"path":"g.txt","content":"new"}`, declined, "", "Successfully wrote to g.txt", "old"},
		{"", "edit_file", change, declined, "", "…+new", "new"},
		{"", "move_file", `{"source":"f.txt","destination":"g.txt"}`, declined, "", "…Successfully", "does not exist"},
		{"", "delete_file", `{"path":"f.txt"}`, agreed, "Delete ROOT/f.txt (a file, 3 bytes)?", "Successfully deleted f.txt", "does not exist"},
		{"", "delete_file", `{"path":"f.txt"}`, declined, "Delete", "…declined", "old"},
		{"", "delete_file", `{"path":"d","recursive":true}`, agreed, "Delete the directory ROOT/d with 2 files and directories in it?", "Successfully deleted d", "old"},
		{"", "delete_file", `{"path":"d"}`, agreed, "", "…not empty; to delete everything in it set recursive", "old"},
		{AskBeforeChange, "edit_file", change, agreed, "Edit ROOT/f.txt (1 lines added, 1 removed)?", "…+new", "new"},
		{AskBeforeChange, "edit_file", change, declined, "Edit", "…declined", "old"},
		{AskBeforeChange, "move_file", `{"source":"f.txt","destination":"g.txt"}`, declined, "Move ROOT/f.txt to ROOT/g.txt?", "…declined", "old"},
		{AskNever, "write_file", `{"path":"f.txt","content":"new"}`, declined, "", "…Successfully", "new"},
		{AskNever, "delete_file", `{"path":"f.txt"}`, declined, "", "…Successfully", "does not exist"},
	} {
		b := newBench(t, Config{Ask: r.ask}, map[string]string{"f.txt": "old", "d/e/x": ""})
		var asked []string
		got := said(callOn(t, answering(b.server, r.answer, &asked), r.tool, r.args, canElicit))
		name := string(r.ask) + " " + r.tool + " " + r.args + " " + r.answer
		expect(t, name, got, r.want)
		if (r.asked == "") != (len(asked) == 0) || len(asked) > 0 && !strings.HasPrefix(asked[0], b.fill(r.asked)) {
			t.Errorf("%s: asked %q, want %q", name, asked, r.asked)
		}
		expect(t, name, b.have("f.txt"), r.file)
	}
}

// A client that cannot ask anybody has to say it in so many words.
func TestConfirm(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"f.txt": "old"})
	b.run([]row{
		{"write_file", `{"path":"f.txt","content":"new"}`, `…Nothing was changed. This cannot be undone. If the user wants it, call again with "confirm": true`},
		{"delete_file", `{"path":"f.txt"}`, `…call again with "confirm": true`},
	})
	expect(t, "f.txt", b.have("f.txt"), "old")
	b.run([]row{
		{"write_file", `{"path":"f.txt","content":"new","confirm":true}`, "Successfully wrote to f.txt"},
		{"delete_file", `{"path":"f.txt","confirm":true}`, "Successfully deleted f.txt"},
	})
}

// Tools that ask can be entered again.
func TestAskingTwice(t *testing.T) {
	b := newBench(t, Config{IgnoreClientRoots: true}, map[string]string{"f.txt": "old"})
	yes := func(mcp.InputRequest) string { return `{"action":"accept","content":{"yes":true}}` }
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"write_file","arguments":{"path":"f.txt","content":"new"}}`)}
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	for range 2 {
		mcptest.Twice(t, b.server, c, yes, nil)
	}
}

// Directories that a client opens narrow what it can reach, and never widen it.
func TestClientRoots(t *testing.T) {
	tree := map[string]string{"a/x.txt": "in a", "b/y.txt": "in b", "link": "->b"}
	withRoots := func(uris ...string) (func(b *bench) mcp.Handler, func(*mcp.Call)) {
		return func(b *bench) mcp.Handler {
				return mcp.HandleInput(b.server, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
					var r mcp.ListRootsResult
					for _, uri := range uris {
						r.Roots = append(r.Roots, mcp.Root{URI: b.fill(uri)})
					}
					return mcp.Marshal(r)
				}, 0)
			}, func(c *mcp.Call) {
				c.Caller.Capabilities = &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}
			}
	}
	const refused = "…Access denied - "
	for _, r := range []struct {
		name    string
		config  Config
		roots   []string
		allowed string
		a, b    string // what reading a/x.txt and b/y.txt comes to
	}{
		{"none", Config{}, nil, "ROOT", "in a", "in b"},
		{"a part", Config{}, []string{"file://ROOT/a"}, "ROOT/a", "in a", refused},
		{"two parts", Config{}, []string{"file://ROOT/a", "file://ROOT/b"}, "ROOT/a\nROOT/b", "in a", "in b"},
		{"the same", Config{}, []string{"file://ROOT"}, "ROOT", "in a", "in b"},
		{"more", Config{}, []string{"file://NEAR"}, "ROOT", "in a", "in b"},
		{"everything", Config{}, []string{"file:///"}, "ROOT", "in a", "in b"},
		{"elsewhere", Config{}, []string{"file:///etc"}, "", refused, refused},
		{"a link", Config{}, []string{"file://ROOT/link"}, "ROOT/b", refused, "in b"},
		{"ignored", Config{IgnoreClientRoots: true}, []string{"file://ROOT/a"}, "ROOT", "in a", "in b"},
		{"out by dots", Config{}, []string{"file://ROOT/a/../../.."}, "ROOT", "in a", "in b"},
	} {
		b := newBench(t, r.config, tree)
		handler, can := withRoots(r.roots...)
		h := handler(b)
		expect(t, r.name, said(callOn(t, h, "list_allowed_directories", `{}`, can)), b.fill("Allowed directories:\n"+r.allowed))
		expect(t, r.name+": a", said(callOn(t, h, "read_text_file", b.fill(`{"path":"ROOT/a/x.txt"}`), can)), r.a)
		expect(t, r.name+": b", said(callOn(t, h, "read_text_file", b.fill(`{"path":"ROOT/b/y.txt"}`), can)), r.b)
		if r.b == refused {
			expect(t, r.name+": link", said(callOn(t, h, "read_text_file", b.fill(`{"path":"ROOT/link/y.txt"}`), can)), "…Access denied")
		}
		if strings.Contains(said(callOn(t, h, "read_text_file", `{"path":"/etc/hostname"}`, can)), "ERROR Access denied") == false {
			t.Errorf("%s: a client has opened what the server may not use", r.name)
		}
	}
}
