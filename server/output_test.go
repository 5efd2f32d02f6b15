package server_test

import (
	"context"
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
	})
	expect(t, "call", callTool(t, s, "draw", ""), `{"content":[{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"text","text":"a picture"}],"structuredContent":{"width":3}}`)
	expect(t, "list", ask(t, s, mcp.MethodToolsList, ""), `…"outputSchema":{"type":"object"`)
}

func TestResourceListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(server.Options{})
		if err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "a:{x}", Name: "a"}, say("")); err != nil {
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
