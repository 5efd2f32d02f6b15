package era_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A client hears that the person is done with a page where both ends speak the
// revision that has a notification for it, also through a gateway. The frames
// are held against the schemas, which have no such notification elsewhere.
func TestPageDoneThroughEveryEra(t *testing.T) {
	for down, downOpts := range speaks {
		for up, upOpts := range speaks {
			t.Run(down+" gateway before "+up+" server", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
					server.AddTool(s, "pay", "", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
						server.ElicitURLDone(c, "never asked")
						for _, key := range []string{"first", "second"} {
							if err := server.ElicitURL(c, key, "Please pay", "https://example.com/"+key); err != nil {
								return "", err
							}
						}
						server.ElicitURLDone(c, "second")
						return "paid", nil
					}, nil)
					var asked, done []*client.Elicitation
					c := client.New(link(t, link(t, s, upOpts), downOpts), &client.Options{
						ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
							asked = append(asked, e)
							return e.Accept(nil)
						},
						ElicitURLDone: func(e *client.Elicitation) { done = append(done, e) },
						Warn:          func(warning string) { t.Error(warning) },
					})
					if _, err := c.CallTool(t.Context(), "pay", nil, nil); err != nil {
						t.Fatal(err)
					}
					if len(asked) != 2 {
						t.Fatalf("asked %d times", len(asked))
					}
					heard := len(done) == 1 && done[0] == asked[1] && done[0].URL == "https://example.com/second"
					if want := down == "legacy" && up == "legacy"; heard != want || !want && len(done) > 0 {
						t.Errorf("heard of %d pages, want it: %v", len(done), want)
					}
				})
			})
		}
	}
}
