package api

import (
	"strings"
	"testing"

	builtin "github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/golden"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
)

// The cases in the files hold not only with the answers there, but with the mocks.
func TestGoldenCasesWithMocks(t *testing.T) {
	t.Parallel()
	at, _ := slack(t)
	graph, _ := graphServer(t)
	for name, base := range map[string]string{
		"github":  strings.Replace(github(t), "127.0.0.1", "localhost", 1),
		"slack":   at + "/api",
		"onenote": graph + "/v1.0",
		"orders":  orderService(t) + "/v1",
	} {
		data, _ := packs.File(name)
		all, err := golden.Run(t.Context(), builtin.Config{Data: data, Name: name + ".yaml", Resolver: credential.Resolver{Getenv: getenv}}, golden.Options{Base: base, Private: true})
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, o := range all {
			if o.Skipped == "" {
				ran++
			}
			for _, p := range o.Problems {
				t.Errorf("%s: %s: %s", name, o.Name, p)
			}
		}
		t.Logf("%s: %d of %d cases", name, ran, len(all))
		if ran < 4 {
			t.Errorf("%s: only %d of %d cases ran", name, ran, len(all))
		}
	}
}
