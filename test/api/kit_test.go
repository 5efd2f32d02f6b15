package api

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	builtin "github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// credentials are set for all packs, and must appear nowhere.
var credentials = map[string]string{"GITHUB_TOKEN": githubToken, "SLACK_BOT_TOKEN": slackToken, "GRAPH_TOKEN": graphToken, "ORDERS_API_KEY": ordersKey}

// pack opens a pack at a base URL. change rewrites its file.
func pack(t *testing.T, name, base string, change ...string) *client.Client {
	t.Helper()
	data, ok := packs.File(name)
	if !ok {
		t.Fatal(name)
	}
	for i := 0; i+1 < len(change); i += 2 {
		if !bytes.Contains(data, []byte(change[i])) {
			t.Fatalf("%s has no %q", name, change[i])
		}
		data = bytes.ReplaceAll(data, []byte(change[i]), []byte(change[i+1]))
	}
	return opened(t, builtin.Config{Data: data, Name: name + ".yaml", Base: base, Private: true, ClientRoots: true})
}

// opened opens a server whose user agrees to everything.
func opened(t *testing.T, config builtin.Config) *client.Client {
	t.Helper()
	folder, err := filepath.Abs("testdata") // the folder of the user
	if err != nil {
		t.Fatal(err)
	}
	config.Resolver = credential.Resolver{Getenv: getenv, Keyring: func(string) (string, error) { return "", nil }}
	s, err := builtin.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		return e.Accept(nil)
	}}
	//lint:ignore SA1019 tools find files there
	o.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file://" + folder}}, nil }
	c := client.New(s, o)
	t.Cleanup(func() { c.Close() })
	return c
}

func getenv(name string) (string, bool) {
	v, ok := credentials[name]
	return v, ok
}

// A result is what a tool returned.
type result struct {
	failed bool
	text   string
	value  any
}

// call calls a tool. Anything but a result fails the test.
func call(t *testing.T, c *client.Client, tool string, args object) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	r, err := c.CallTool(ctx, tool, args, nil)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	out := result{failed: r.IsError}
	for _, block := range r.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			out.text += b.Text
		}
	}
	if r.StructuredContent != nil {
		if err := json.Unmarshal(r.StructuredContent, &out.value); err != nil {
			t.Fatal(err)
		}
	}
	for _, secret := range credentials {
		if strings.Contains(out.text+string(r.StructuredContent), secret) {
			t.Errorf("%s %v: the result contains a credential: %s", tool, args, out.text)
		}
	}
	return out
}

// want calls a tool that must succeed, with texts in its result.
func want(t *testing.T, c *client.Client, tool string, args object, texts ...string) result {
	t.Helper()
	r := call(t, c, tool, args)
	if r.failed {
		t.Errorf("%s %v: %s", tool, args, r.text)
	}
	for _, text := range texts {
		if !strings.Contains(r.text, text) {
			t.Errorf("%s %v: there is no %q in %s", tool, args, text, r.text)
		}
	}
	return r
}

// refused calls a tool that must fail, with texts in its error.
func refused(t *testing.T, c *client.Client, tool string, args object, texts ...string) {
	t.Helper()
	r := call(t, c, tool, args)
	for _, text := range texts {
		if !r.failed || !strings.Contains(r.text, text) {
			t.Errorf("%s %v: failed=%t, want %q in %s", tool, args, r.failed, text, r.text)
		}
	}
}

// items returns the items of a list.
func items(r result) []any {
	o, _ := r.value.(object)
	all, _ := o["items"].([]any)
	return all
}
