package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A report that cannot fail proves nothing.
func TestReport(t *testing.T) {
	const (
		pass  = `[{"id":"a","status":"SUCCESS"},{"id":"log","status":"INFO"}]`
		fails = `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"FAILURE","errorMessage":"why"}]`
		warns = `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"why"}]`
		empty = `[{"id":"log","status":"INFO"}]`
	)
	const stamp = "-2026-01-02T03-04-05-678Z"
	allByName := map[string]string{}
	for _, name := range unscored["server"] {
		allByName["server-"+name+stamp+"/checks.json"] = pass
	}
	for _, c := range []struct {
		name, leg string
		files     map[string]string
		want      string // part of the only problem; empty means none
	}{
		{"passes", "server-r1", map[string]string{"server-ping" + stamp + "/checks.json": pass}, ""},
		{"fails", "server-r1", map[string]string{"server-ping" + stamp + "/checks.json": fails}, "failure b: why"},
		{"a server may be warned", "server-r1", map[string]string{"server-ping" + stamp + "/checks.json": warns}, ""},
		{"but not here", "server-r1", map[string]string{
			"server-ping" + stamp + "/checks.json":               pass,
			"server-server-sse-polling" + stamp + "/checks.json": warns,
		}, "server-sse-polling: warning b: why"},
		{"is not run", "server-r1", nil, "ping was not run"},
		{"checks nothing", "server-r1", map[string]string{"server-ping" + stamp + "/checks.json": empty}, "checked nothing"},
		{"what is not required may fail", "server-r1", map[string]string{
			"server-ping" + stamp + "/checks.json":  pass,
			"server-tasks" + stamp + "/checks.json": fails,
		}, ""},
		{"fails through a gateway", "gateway-r1", map[string]string{"server-ping" + stamp + "/checks.json": fails}, "failure b: why"},
		{"fails through a gateway to an older server", "oldergateway-r1", map[string]string{"server-ping" + stamp + "/checks.json": fails}, "failure b: why"},
		{"cannot pass through a gateway to an older server", "oldergateway-r3", map[string]string{
			"server-ping" + stamp + "/checks.json":             pass,
			"server-server-stateless" + stamp + "/checks.json": fails,
		}, ""},
		{"but does through another", "gateway-r3", map[string]string{
			"server-ping" + stamp + "/checks.json":             pass,
			"server-server-stateless" + stamp + "/checks.json": fails,
		}, "server-stateless: failure b: why"},
		{"all by name", "server-by-name", allByName, ""},
		{"a client may not be warned", "client-r1", map[string]string{"call" + stamp + "/checks.json": warns}, "warning b: why"},
		{"a client ends badly", "client-r1", map[string]string{
			"call" + stamp + "/checks.json": pass,
			"call" + stamp + "/stderr.txt":  "oops\nconformance-exit: 3\n",
		}, "ended with status 3"},
		{"a client may fail only where the suite lets it", "client-r2", map[string]string{
			"auth/resource-mismatch" + stamp + "/checks.json": pass,
			"auth/resource-mismatch" + stamp + "/stderr.txt":  "refused\nconformance-exit: 1\n",
		}, ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "r1.yaml"), "# words\nserver:\n  - ping\n\nclient:\n  - call\n\nnot_scored:\n  - scenario: x\n")
		write(t, filepath.Join(dir, "r2.yaml"), "server:\n  - ping\nclient:\n  - auth/resource-mismatch\n")
		write(t, filepath.Join(dir, "r3.yaml"), "server:\n  - ping\n  - server-stateless\n")
		if err := os.Mkdir(filepath.Join(dir, c.leg), 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.files {
			write(t, filepath.Join(dir, c.leg, name), text)
		}
		l, err := readLeg(filepath.Join(dir, c.leg))
		if err == nil {
			err = l.require(dir)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		bad := problems([]*leg{l})
		switch {
		case c.want == "" && len(bad) > 0:
			t.Errorf("%s: %q", c.name, bad)
		case c.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.want)):
			t.Errorf("%s: %q, want one with %q", c.name, bad, c.want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
