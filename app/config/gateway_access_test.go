package config

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestGatewayAccess reads all members that decide who may what.
func TestGatewayAccess(t *testing.T) {
	dir := t.TempDir()
	text := `{"gateway": {
  "rules": [
    {"effect": "allow", "principal": "user:*", "issuer": "i", "group": "g", "scope": "s", "server": "a", "tool": "t", "prompt": "p", "resource": "r", "args": {"x": "1"}},
    {"effect": "deny"}
  ],
  "limits": [{"tool": "*", "rate": "60/m", "burst": 10, "concurrency": 4, "per": "tool"}, {"rate": "5/10s"}],
  "groupClaim": "roles",
  "keys": "k.json",
  "audit": {"file": "f", "optional": true, "off": true, "sync": true, "arguments": "digest"}
}}`
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(&Options{UserDir: dir, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	want := Gateway{
		Rules: []GatewayRule{
			{GatewayMatch{"user:*", "i", "g", "s", "a", "t", "p", "r", map[string]string{"x": "1"}}, Allow, 3},
			{GatewayMatch{}, Deny, 4},
		},
		Limits: []GatewayLimit{
			{GatewayMatch{Tool: "*"}, 60, time.Minute, 10, 4, "tool", 6},
			{Rate: 5, Period: 10 * time.Second, Line: 6},
		},
		GroupClaim: "roles",
		Keys:       "k.json",
		Audit:      GatewayAudit{Audit: Audit{File: "f", Optional: true}, Off: true, Sync: true},
	}
	if got := c.Settings().Gateway; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
