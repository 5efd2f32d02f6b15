package protect

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// What a request costs before its handler runs.
func BenchmarkWrap(b *testing.B) {
	key := "0123456789abcdef0123456789abcdef"
	sum := sha256.Sum256([]byte(key))
	keys, err := APIKeys(map[string]mcp.Principal{keyPrefix + hex.EncodeToString(sum[:]): {ID: "x"}})
	if err != nil {
		b.Fatal(err)
	}
	is := &issuer{url: "https://login.example.com"}
	signed, err := JWT(&JWTOptions{Issuer: is.url, Audiences: []string{resource}})
	if err != nil {
		b.Fatal(err)
	}
	set := signed.(*jwtVerifier).keys
	set.set(keyState{keys: []publicKey{{id: "rsa-1", public: rsaKey().Public()}}, fetched: time.Now()})
	for _, bench := range []struct {
		name, token string
		verifier    Verifier
		require     func(string, string) []string
	}{
		{"key", key, keys, nil},
		{"key+operation", key, keys, func(string, string) []string { return nil }},
		{"RS256", is.token(map[string]any{"exp": time.Now().Unix() + 1e6}), signed, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, err := New(&Options{Resource: resource, Verifier: bench.verifier, Require: bench.require})
			if err != nil {
				b.Fatal(err)
			}
			h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`, "Authorization: Bearer "+bench.token)); w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
