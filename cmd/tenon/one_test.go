package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/audit"
)

// What there is one of, or none, is said so.
func TestReportsOfOneAndNone(t *testing.T) {
	dir := t.TempDir()
	api, log := filepath.Join(dir, "api.yaml"), filepath.Join(dir, "audit.jsonl")
	write(t, api, "tenon: api/1\nname: x\napi: {base: https://api.example.com}\ntools: {get: {description: Get it, request: GET /x}}\n")
	if _, out, errs := tenon(t, "doctor", "builtin:api?file="+api, "--once"); !strings.Contains(out, "· 1 tool, about ") {
		t.Errorf("doctor says %s%s", out, errs)
	}
	l, err := audit.Open(log, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := tenon(t, "audit", "verify", log); code != 0 || !strings.Contains(out, log+" is intact, and has no records yet\n") {
		t.Errorf("audit verify says %s%s", out, errs)
	}
}
