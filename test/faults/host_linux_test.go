package faults

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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
		{reordered, "the server answers calls in another order", []cell{{sees: eachSees}, never(noSockets), never(ownAnswer), {sees: eachSees}}, false},
		{clockJump, "the clock of the host jumps by hours, both ways", noSocket(sees, sees, sees), false},
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
	var ck *clock
	switch fault {
	case clockJump:
		ck = newClock(t)
	case diskFull:
		home = small(t, 2<<10)
	}
	f := newFaulty(t, transport, fault)
	configure(t, home, map[string]any{"mcpServers": map[string]any{"echo": f.entry(transport, timeout(fault).String())}})
	said := mark
	if fault == slowReader {
		said += strings.Repeat("x", 1<<20)
	}
	calls := fmt.Sprintf("{\"call\":{\"name\":\"echo__echo\",\"arguments\":{\"text\":%q}}}\n", said)
	if fault == reordered {
		calls = strings.Replace(calls, "echo__echo", "echo__read", 1)
		calls += strings.Replace(calls, mark, "later", 1)
	}
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
		path := tenon(t, ck)
		if limit != "" {
			args = append([]string{"-c", "ulimit -n " + limit + "; exec \"$@\"", "sh", path}, args...)
			path = "/bin/sh"
		}
		p := prepare(t, home, ck, path, args...)
		p.start()
		p.stdin.Close()
		if ck != nil { // between the start and the end of a run
			defer jumps(t, ck)()
		}
		raw, err := io.ReadAll(p.stdout)
		if err != nil {
			t.Fatal(err)
		}
		code, out := p.ends(), string(raw)
		t.Logf("exit code %d: %.300s", code, p.said())
		left = append(left, otherFiles(home)...)
		switch {
		case code == 0 && fault == reordered && strings.Contains(out, mark) && strings.Contains(out, "later") && strings.Contains(out, "finished"):
			return eachSees
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

// jumps lets a clock jump by hours, both ways, until stop is called.
func jumps(t *testing.T, c *clock) (stop func()) {
	var wg sync.WaitGroup
	stopped := make(chan struct{})
	wg.Go(func() {
		for by := time.Hour; ; by = -by {
			select {
			case <-stopped:
				return
			case <-time.After(5 * time.Millisecond):
				c.set(t, by)
			}
		}
	})
	return func() {
		close(stopped)
		wg.Wait()
	}
}

// kept are the files that a host has after a run.
var kept = []string{"filled", "tenon/tenon.json", "tenon/host/audit.jsonl", "tenon/host/audit.jsonl.head", "tenon/host/sessions.db"}

// otherFiles returns the files below a home folder that no run keeps.
func otherFiles(home string) (found []string) {
	for name := range list(home) {
		if !slices.Contains(kept, strings.TrimPrefix(name, "/")) {
			found = append(found, "file "+name)
		}
	}
	return found
}
