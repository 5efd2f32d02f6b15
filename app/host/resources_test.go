package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// library is a server with resources and a tool that links to one of them.
func library(t *testing.T, n int) *server.Server {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "library", Version: "1"}, nil)
	read := func(_ context.Context, _ *mcp.Call, uri string, _ map[string]string) ([]mcp.ResourceContents, error) {
		if strings.HasSuffix(uri, "/missing") {
			return nil, errors.New("lost pages")
		}
		return []mcp.ResourceContents{{URI: uri, Text: "text of " + uri}}, nil
	}
	for i := range n {
		if err := s.AddResource(mcp.Resource{URI: fmt.Sprint("book://", i), Name: fmt.Sprint("Book ", i), Description: "about\nfish"}, read, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddResource(mcp.Resource{URI: "book://a/missing", Name: "Missing"}, read, nil); err != nil {
		t.Fatal(err)
	}
	err := s.AddRawTool(mcp.Tool{Name: "find", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{&mcp.ResourceLink{Resource: mcp.Resource{URI: "book://1", Name: "Book 1"}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A link in a result is no dead end: the model reads it without a further question,
// and other resources with one.
func TestModelReadsResources(t *testing.T) {
	b := newBench(t, nil,
		calls(listResourcesName, `{}`),
		calls("lib__find", `{}`),
		calls(readResourceName, `{"server":"lib","uri":"book://1"}`),
		calls(readResourceName, `{"server":"lib","uri":"book://2"}`),
		calls(readResourceName, `{"server":"lib","uri":"book://a/missing"}`),
		calls(readResourceName, `{"server":"calc","uri":"book://2"}`),
		calls(readResourceName, `{"server":"lib"}`),
		says("done"))
	b.attach("lib", library(t, 3))
	b.attach("calc", server.New(mcp.Implementation{Name: "calc", Version: "1"}, nil))
	var asked []string
	b.answers = func(a Ask) *Reply {
		asked = append(asked, a.Call.Tool+" "+string(a.Call.Arguments))
		return &Reply{Action: "once"}
	}
	send(t, b.host.NewSession(), "read")
	want := []string{"find {}", `resources/read {"uri":"book://2"}`, `resources/read {"uri":"book://a/missing"}`}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for i, want := range []string{
		"book://0  Book 0: about fish",
		"[link to the resource book://1 of lib: Book 1; read_resource reads it]",
		"text of book://1",
		"text of book://2",
		`resource "book://a/missing" failed`,
		`the server "calc" has no resources`,
		"needs the server and the uri",
	} {
		r := b.model.asked[i+1]
		if got := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(got, want) {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
	if text := b.model.asked[1].Messages[2].Text(); !strings.HasPrefix(text, `<resources from="lib"`) {
		t.Errorf("the list is not marked as data: %q", text)
	}
}

func TestResourcesFollowRules(t *testing.T) {
	rules := []config.Rule{
		{Effect: config.Allow, Server: "lib", Tool: "*"},
		{Effect: config.Deny, Server: "lib", Tool: "resources/read", Args: map[string]string{"uri": "book://1"}},
	}
	b := newBench(t, func(o *Options) { o.Book, o.Unattended = book(t, config.Settings{Rules: rules}), true },
		calls("lib__find", `{}`),
		calls(readResourceName, `{"server":"lib","uri":"book://1"}`), // linked, and denied
		calls(readResourceName, `{"server":"lib","uri":"book://2"}`),
		calls(listResourcesName, `{"query":"FISH"}`),
		calls(listResourcesName, `{"query":"bird"}`),
		says("done"))
	b.attach("lib", library(t, 300))
	send(t, b.host.NewSession(), "read")
	for i, want := range []string{"Book 1", "Denied", "text of book://2", "Only the first 200 are listed", "No resource was found"} {
		r := b.model.asked[i+1]
		if got := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(got, want) {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
}

// Without resources, the model gets no tools for them.
func TestNoResourceTools(t *testing.T) {
	b := newBench(t, nil, says("done"))
	b.attach("calc", server.New(mcp.Implementation{Name: "calc", Version: "1"}, nil))
	send(t, b.host.NewSession(), "hello")
	if tool(b.model.asked[0], readResourceName) != "" {
		t.Error("the model can read resources of nobody")
	}
}
