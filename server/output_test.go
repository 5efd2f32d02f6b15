package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type picture struct {
	Width int `json:"width"`
	data  []byte
}

func (p picture) MCPContents() mcp.Contents {
	return mcp.Contents{mcp.Image(p.data, "image/png"), mcp.Text("a picture")}
}

// An output may bring its own blocks and has a schema all the same.
func TestOutputWithBlocks(t *testing.T) {
	s, _ := newServer(server.Options{})
	server.AddTool(s, "draw", "", func(context.Context, *mcp.Call, nothing) (picture, error) {
		return picture{Width: 3, data: []byte("x")}, nil
	}, nil)
	expect(t, "call", callTool(t, s, "draw", ""), `{"content":[{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"text","text":"a picture"}],"structuredContent":{"width":3}}`)
	expect(t, "list", ask(t, s, mcp.MethodToolsList, ""), `…"outputSchema":{"type":"object"`)
}

// drawing and said have their methods on the pointer.
type drawing struct {
	Width int `json:"width"`
}

func (d *drawing) MCPContents() mcp.Contents {
	return mcp.Contents{mcp.Text("a drawing"), mcp.Text("its frame")}
}

type said struct {
	N int `json:"n"`
}

func (s *said) MCPText() string { return "said" }

// L11: methods on the pointer count as those on the value do.
func TestOutputMethodsOnThePointer(t *testing.T) {
	s, _ := newServer(server.Options{})
	server.AddTool(s, "value", "", func(context.Context, *mcp.Call, nothing) (drawing, error) { return drawing{3}, nil }, nil)
	server.AddTool(s, "pointer", "", func(context.Context, *mcp.Call, nothing) (*drawing, error) { return &drawing{3}, nil }, nil)
	server.AddTool(s, "text", "", func(context.Context, *mcp.Call, nothing) (said, error) { return said{3}, nil }, nil)
	server.AddTool(s, "wrapped", "", func(context.Context, *mcp.Call, nothing) (server.Output[drawing], error) {
		return server.Output[drawing]{Structured: drawing{3}}, nil
	}, nil)
	drawn := `{"content":[{"type":"text","text":"a drawing"},{"type":"text","text":"its frame"}],"structuredContent":{"width":3}}`
	for _, name := range []string{"value", "pointer", "wrapped"} {
		expect(t, name, callTool(t, s, name, ""), drawn)
	}
	expect(t, "text", callTool(t, s, "text", ""), `{"structuredContent":{"n":3},"content":[{"type":"text","text":"said"}]}`)
}

// One type may read differently in each tool, and in each call.
func TestOutputTextPerTool(t *testing.T) {
	type out struct {
		Sum int `json:"sum" schema:"minimum=0"`
	}
	s, _ := newServer(server.Options{})
	server.AddTool(s, "add", "", func(_ context.Context, _ *mcp.Call, in pair) (server.Output[out], error) {
		o := server.Output[out]{Structured: out{in.A + in.B}}
		switch in.A {
		case 1:
			o.Text = fmt.Sprintf("It is %d.", in.A+in.B)
		case 2:
			o.Text, o.Content = "not this", mcp.Contents{mcp.Text("one"), mcp.Text("two")}
		case 3:
			o.Content = mcp.Contents{}
		}
		return o, nil
	}, nil)
	server.AddTool(s, "list", "", func(context.Context, *mcp.Call, nothing) (*server.Output[[]int], error) {
		return &server.Output[[]int]{Structured: []int{1}, Text: "one"}, nil
	}, nil)
	expect(t, "list", ask(t, s, mcp.MethodToolsList, ""), `…"outputSchema":{"type":"object","properties":{"sum":{"type":"integer","minimum":0}},"required":["sum"],"additionalProperties":false}`)
	for _, row := range []struct{ args, want string }{
		{`{"a":0,"b":2}`, `{"structuredContent":{"sum":2},"content":[{"type":"text","text":"{\"sum\":2}"}]}`},
		{`{"a":1,"b":2}`, `{"structuredContent":{"sum":3},"content":[{"type":"text","text":"It is 3."}]}`},
		{`{"a":2,"b":2}`, `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"structuredContent":{"sum":4}}`},
		{`{"a":3,"b":2}`, `{"content":[],"structuredContent":{"sum":5}}`},
		{`{"a":1,"b":-9}`, "…output of tool \"add\" violates its output schema:\nsum: must be at least 0"},
	} {
		expect(t, row.args, callTool(t, s, "add", row.args), row.want)
	}
	server.AddTool(s, "nil", "", func(context.Context, *mcp.Call, nothing) (*server.Output[out], error) { return nil, nil }, nil)
	expect(t, "nil", callTool(t, s, "nil", ""), `-32603 encode the output of tool "nil": the result is nil`)
	expect(t, "pointer", callTool(t, s, "list", ""), `{"structuredContent":[1],"content":[{"type":"text","text":"one"}]}`)
}

// L38: an output that breaks its own tags is the developer's mistake. Clients
// would refuse it without saying why to anybody who can mend it.
func TestOutputIsHeldToItsTags(t *testing.T) {
	type out struct {
		Size  string   `json:"size" schema:"enum=small|large"`
		Count int      `json:"count" schema:"minimum=1"`
		Tags  []string `json:"tags,omitempty" schema:"uniqueItems"`
	}
	s, log := newServer(server.Options{})
	server.AddTool(s, "make", "", func(_ context.Context, _ *mcp.Call, in struct {
		Count int `json:"count"`
	}) (out, error) {
		if in.Count > 0 {
			return out{"small", in.Count, []string{"a", "b"}}, nil
		}
		return out{"huge", in.Count, []string{"a", "a"}}, nil
	}, nil)
	server.AddTool(s, "drawn", "", func(context.Context, *mcp.Call, nothing) (ruledPicture, error) { return ruledPicture{0}, nil }, nil)
	expect(t, "kept", callTool(t, s, "make", `{"count":1}`), `…"structuredContent":{"size":"small","count":1,"tags":["a","b"]}`)
	if log.String() != "" {
		t.Errorf("the operator reads %s", log)
	}
	expect(t, "broken", callTool(t, s, "make", `{"count":0}`), `-32603 output of tool "make" violates its output schema:
size: the string "huge" is not allowed; use one of "small", "large"
count: must be at least 1
tags: must not have equal items, but [0] and [1] are`)
	if got := log.String(); !strings.Contains(got, "tool output violates its output schema") || !strings.Contains(got, "tool=make") || !strings.Contains(got, "count: must be at least 1") {
		t.Errorf("the operator reads %s", got)
	}
	expect(t, "with content", callTool(t, s, "drawn", ""), "…width: must be at least 1")
}

type ruledPicture struct {
	Width int `json:"width" schema:"minimum=1"`
}

func (ruledPicture) MCPContents() mcp.Contents { return mcp.Contents{mcp.Text("x")} }

func TestResourceListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(server.Options{})
		if err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "a:{x}", Name: "a"}, say(""), nil); err != nil {
			t.Fatal(err)
		}
		box := &mailbox{}
		stop, err := detached(s, listenTo(`{"resourcesListChanged":true}`, box.put))
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		box.take()
		s.ResourceListChanged()
		s.ResourceListChanged()
		time.Sleep(time.Second)
		expect(t, "news", box.take(), resNews)
	})
}
