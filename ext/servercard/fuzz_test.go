package servercard

import (
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// A card or a catalog that is accepted can be written and is accepted again.
func FuzzCard(f *testing.F) {
	f.Add([]byte(`{"$schema":"` + Schema + `","name":"com.example/weather","version":"1.0.0","description":"Forecasts","remotes":[{"type":"streamable-http","url":"https://example.com/mcp","supportedProtocolVersions":["2026-07-28"]}]}`))
	f.Add([]byte(`{"specVersion":"1.0","entries":[{"identifier":"urn:x","displayName":"n","mediaType":"application/json","url":"https://example.com/card"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := Parse(data); err == nil {
			again, err := mcp.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(again); err != nil {
				t.Fatalf("%s is accepted, and written as %s, which is not: %v", data, again, err)
			}
		}
		if c, err := ParseCatalog(data); err == nil {
			again, err := mcp.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseCatalog(again); err != nil {
				t.Fatalf("%s is accepted, and written as %s, which is not: %v", data, again, err)
			}
		}
	})
}
