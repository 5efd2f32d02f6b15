package faults

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostRole is tenon run with a model that calls a faulty server. Its answer is
// printed in every cell in which the run begins.
var hostRole = role{
	name: "host", title: "A host with a faulty server", run: atHost,
	rows: []row{
		{killed, "the server is killed before it answers", noSocket(fails, fails, fails), true},
		{hangs, "the server hangs", noSocket(timesOut, timesOut, timesOut), true},
		{halfOpen, "the network drops everything", []cell{never(pipesOnly), never(noSockets), {sees: timesOut}, {sees: timesOut}}, false},
		{slowReader, "the server reads slowly", noSocket(sees, sees, sees), false},
		{slowWriter, "the server sends its answer a byte at a time", noSocket(sees, sees, sees), false},
		{garbage, "the server sends garbage before its answer", noSocket(sees, fails, fails), false},
		{truncated, "the server sends half of its answer and ends", noSocket(fails, fails, fails), false},
		{duplicate, "the server sends its answer twice", noSocket(sees, sees, sees), false},
		{reordered, "the server answers calls in another order", []cell{{}, never(noSockets), never(ownAnswer), {}}, false},
		{clockJump, "the clock of the host jumps by hours, both ways", noSocket("", "", ""), false},
		{diskFull, "the disk of the host is full", noSocket(fails, fails, fails), false},
		{noDescriptors, "the host is out of descriptors", noSocket(fails, fails, fails), false},
	},
}

const noSockets = "tenon connects to no sockets"

// noSocket is a row without a cell for sockets.
func noSocket(overPipes, overWeb, overEvents string) []cell {
	return []cell{{sees: overPipes}, never(noSockets), {sees: overWeb}, {sees: overEvents}}
}

// atHost runs one cell.
func atHost(t *testing.T, transport, fault string) (saw string, left []string) {
	home := t.TempDir()
	free := func() {}
	if fault == diskFull {
		home = small(t, 2<<10)
	}
	f := newFaulty(t, transport, fault)
	configure(t, home, map[string]any{"mcpServers": map[string]any{"echo": f.entry(transport, timeout(fault).String())}})
	said := mark
	if fault == slowReader {
		said += strings.Repeat("x", 1<<20)
	}
	calls := fmt.Sprintf("{\"call\":{\"name\":\"echo__echo\",\"arguments\":{\"text\":%q}}}\n", said)
	script := filepath.Join(t.TempDir(), "script.jsonl")
	lines := "{\"script\":1,\"model\":{\"provider\":\"script\",\"name\":\"demo\"}}\n{\"expect\":{}}\n" + calls + "{\"done\":\"\"}\n{\"expect\":{}}\n{\"text\":\"finished\"}\n{\"done\":\"end\"}\n"
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if fault == diskFull {
		free = fill(t, home)
	}
	run := func(limit string) string {
		args := []string{"run", "hello", "-m", "script:" + script, "-s", "echo", "--allow", "echo", "--output", "json"}
		path := tenon(t, nil)
		if limit != "" {
			args = append([]string{"-c", "ulimit -n " + limit + "; exec \"$@\"", "sh", path}, args...)
			path = "/bin/sh"
		}
		p := prepare(t, home, nil, path, args...)
		p.start()
		p.stdin.Close()
		raw, err := io.ReadAll(p.stdout)
		if err != nil {
			t.Fatal(err)
		}
		code, out := p.ends(), string(raw)
		t.Logf("exit code %d: %.300s", code, p.said())
		left = append(left, descendants(p.cmd.Process.Pid)...)
		switch {
		case code == 0 && strings.Contains(out, mark) && strings.Contains(out, "finished"):
			return sees
		case code == 1 && strings.Contains(out, "finished") && strings.Contains(out, "for "+idle.String()):
			return timesOut
		case code == 1 && strings.Contains(out, "finished"), code == 4 && strings.Contains(p.said(), "tenon: "):
			return fails
		}
		return fmt.Sprintf("exit code %d, %s %s", code, out, p.said())
	}
	switch fault {
	case diskFull, noDescriptors:
		limit := ""
		if fault == noDescriptors {
			limit = "8"
		}
		saw = run(limit)
		free()
		if after := run(""); after != sees {
			saw += ", then " + after
		}
		return saw, left
	}
	return run(""), left
}
