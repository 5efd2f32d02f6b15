package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Everything may be done at once.
func TestConcurrentUse(t *testing.T) {
	for name, allow := range map[string]func(*mcp.Caller, server.Feature) bool{
		"open":    nil,
		"guarded": func(_ *mcp.Caller, f server.Feature) bool { return f.Name != "hidden" },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newServer(server.Options{PageSize: 5, Allow: allow, ChangeDelay: 1})
			addTools(s, "stays", "hidden")
			addPrompt[struct{ A string }, string]("stays")(s)
			template(mcp.ResourceTemplate{URITemplate: "a:{x}", Name: "t"}, say("x"))(s)
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					own := fmt.Sprint("own", i%10)
					var box mailbox
					stop, err := detached(s, listenTo(`{"toolsListChanged":true,"resourceSubscriptions":["a:x"]}`, box.put))
					if err != nil {
						t.Error(err)
						return
					}
					for range 20 {
						addTools(s, own)
						expect(t, "call", callTool(t, s, "stays", ""), `…"text":"stays"`)
						ask(t, s, mcp.MethodToolsCall, `{"name":"`+own+`"}`)
						first := turn(t, s, mcp.MethodToolsList, nil)
						if !strings.HasPrefix(first.names(), "stays") {
							t.Errorf("the list begins with %q", first.names())
						}
						if first.NextCursor != nil {
							turn(t, s, mcp.MethodToolsList, first.NextCursor)
						}
						resource(mcp.Resource{URI: "b:" + own, Name: own}, say(own))(s)
						expect(t, "read", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:x"}`), `…"text":"x"`)
						ask(t, s, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"stays"},"argument":{"name":"A","value":""}}`)
						ask(t, s, mcp.MethodDiscover, "")
						s.ResourceUpdated("a:x")
						s.RemoveTools(own)
						s.RemoveResources("b:" + own)
					}
					stop()
					if got := box.take(); !strings.HasPrefix(got, ack) || strings.Count(got, ack) != 1 {
						t.Errorf("heard %q", got)
					}
				})
			}
			all.Wait()
			expect(t, "what is left", ask(t, s, mcp.MethodResourcesList, ""), `{"resources":[]}`)
		})
	}
}
