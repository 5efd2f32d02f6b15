package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A bundle that the official program packs, and one that it also signs, are added
// with their inputs, and their server runs.
func TestBundlesOfTheOfficialProgram(t *testing.T) {
	mcpb := nodePeer(t, filepath.Join("node_modules", "@anthropic-ai", "mcpb", "dist", "cli", "cli.js"))
	parallel(t)
	c := newTerminal(t)
	folder, out := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "server"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"server/adder": []byte("#!/bin/sh\nexec \"$PROGRAM\" \"$@\"\n"),
		"manifest.json": []byte(`{"manifest_version":"0.3","name":"adder","display_name":"Adder","version":"1.0.0","description":"Adds","author":{"name":"Ada"},
			"server":{"type":"binary","entry_point":"server/adder","mcp_config":{"command":"${__dirname}/server/adder","args":["serve","${user_config.kind}"],"env":{"PROGRAM":"${user_config.program}","LEVEL":"${user_config.level}"}}},
			"user_config":{"kind":{"type":"string","title":"Kind","description":"What is served","required":true},"program":{"type":"file","title":"Program","description":"What serves","required":true},"level":{"type":"number","title":"Level","description":"Level","default":3,"min":1,"max":5}},
			"compatibility":{"platforms":["linux","darwin","win32"]}}`),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), mcpb[0], append(mcpb[1:], args...)...)
		cmd.Dir = out
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("mcpb %q: %v\n%s", args, err, text)
		}
	}
	file := filepath.Join(out, "adder.mcpb")
	run("validate", filepath.Join(folder, "manifest.json"))
	run("pack", folder, file)
	c.run(0, "", []string{"config", "add", "adder", file, "--yes", "--input", "kind=calc", "--input", "program=" + c.program}, "err:Publisher:  Ada", "err:LEVEL=3 ", "err:Added adder to")
	c.run(0, "", []string{"call", "adder", "add", "a=20", "b=22"}, "42")
	c.run(2, "", []string{"config", "add", "other", file, "--yes", "--input", "kind=calc", "--input", "program=" + c.program, "--input", "level=6"}, "err:must be at most 5")
	run("sign", "--self-signed", file)
	c.run(0, "", []string{"config", "add", "signed", file, "--yes", "--input", "kind=calc", "--input", "program=" + c.program}, "err:Added signed to")
	c.run(0, "", []string{"call", "signed", "add", "a=20", "b=22"}, "42")
}
