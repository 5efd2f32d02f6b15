package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
)

// The fast check misses nothing that the patterns match.
func TestMayMatchMissesNothing(t *testing.T) {
	parts := []string{"Bearer ", "bearer\t", "BASIC ", "ba\u017fic ", "DPoP  ", "eyJ", "sk-", "PK-", "pk-", "rk-live-", "ghp_", "ghr_", "github_pat_", "glpat-", "xoxb-", "AKIA", "AIza",
		"-----BEGIN RSA PRIVATE KEY-----", "abcdefgh", "ABCDEFGHIJ234567", "0123456789", ".", " ", "-", "_", "x", "é", "bas", "bea", "dp"}
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range racetest.Size(200_000, 30_000) {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		if s := b.String(); patterns().MatchString(s) {
			if matched++; !mayMatch(s) {
				t.Fatalf("%q", s)
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts matched", matched)
	}
	if mayMatch(strings.Repeat("x", 1000)) {
		t.Error("a text without any beginning may match")
	}
}
