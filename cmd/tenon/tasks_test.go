package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tasker runs the real program for one person.
type tasker struct {
	t      *testing.T
	config string
}

func newTasker(t *testing.T) *tasker { return &tasker{t, filepath.Join(t.TempDir(), "config")} }

// run runs a command line, which must end with a code and print the texts;
// "err:" is for standard error.
func (k *tasker) run(code int, args []string, want ...string) (out string) {
	k.t.Helper()
	cmd := binary(k.t, args...)
	set(cmd, "TENON_CONFIG_DIR", k.config)
	got, out, errs := output(k.t, cmd)
	if got != code {
		k.t.Errorf("%q: exit code %d, not %d\n%s%s", args, got, code, out, errs)
	}
	for _, w := range want {
		if text, ok := strings.CutPrefix(w, "err:"); ok && !strings.Contains(errs, text) {
			k.t.Errorf("%q: standard error does not have %q:\n%s", args, text, errs)
		} else if !ok && !strings.Contains(out, w) {
			k.t.Errorf("%q: the output does not have %q:\n%s%s", args, w, out, errs)
		}
	}
	return out
}

func (k *tasker) words(code int, line string, want ...string) string {
	k.t.Helper()
	return k.run(code, strings.Fields(line), want...)
}

func TestDetachedTask(t *testing.T) {
	url := servingAt(t, "demo", "--http", "127.0.0.1:0")
	k := newTasker(t)
	k.words(exitOK, "tasks list", "no tasks")
	k.words(exitOK, "tasks list --format json", `"tasks": []`)
	id := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=tea seconds=1 --detach", "err:tenon tasks wait "+url+" "))
	if len(id) < 20 || strings.ContainsAny(id, " \n") {
		t.Fatalf("the output is not an id: %q", id)
	}
	k.words(exitOK, "tasks list", id, "slow_report", "working", url)
	k.words(exitOK, "tasks wait "+url, "Report on tea: all is well.")
	k.words(exitOK, "tasks list", "completed")
	if lines := strings.Split(strings.TrimSpace(k.words(exitOK, "tasks list --format jsonl")), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], `{"server":`) {
		t.Errorf("not one task on each line: %q", lines)
	}
	k.words(exitUsage, "call "+url+" slow_report topic=tea --detach --answer format=long", "err:give --answer to tenon tasks wait")
	k.words(exitOK, "tasks get "+url+" "+id, "Report on tea", "err:completed")
	k.words(exitOK, "tasks get "+url+" "+id+" --format json", `"status": "completed"`, `"result": {`)
	k.words(exitOK, "tasks cancel "+url+" "+id, "err:has already ended")
	k.words(exitUsage, "tasks wait "+url, "err:missing ID: no running task")
	k.words(exitProtocol, "tasks get "+url+" nosuch", `err:no task "nosuch"`, "err:call the tool again")
	k.words(exitUsage, "tasks get", "err:missing SERVER")
	k.words(exitUsage, "tasks get "+url+" a b", `err:unexpected argument "b"`)
	if _, err := os.Stat(filepath.Join(k.config, "host", "tasks.json")); err != nil {
		t.Error(err)
	}
}

// A server of the older form, with tasks in the core protocol, works in the same
// way.
func TestDetachedTaskOfAnOlderServer(t *testing.T) {
	url := servingAt(t, "demo", "--http", "127.0.0.1:0")
	k := newTasker(t)
	older := " --revision 2025-11-25"
	id := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=tea seconds=1 --detach"+older, "err:tenon tasks wait"))
	k.words(exitOK, "tasks wait "+url+" "+id+older, "Report on tea: all is well.")
	k.words(exitOK, "tasks get "+url+" "+id+older, "Report on tea", "err:completed")
}

// In a shell the server goes on after a command.
func TestTasksInTheShell(t *testing.T) {
	cmd := binary(t, "shell", "builtin:demo")
	cmd.Stdin = strings.NewReader("call slow_report topic=tea seconds=1 --detach\ntasks list\ntasks wait\n")
	code, out, errs := output(t, cmd)
	if code != exitOK || !strings.Contains(out, "working") || !strings.Contains(out, "Report on tea: all is well.") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}

func TestCancelDetachedTask(t *testing.T) {
	url := servingAt(t, "demo", "--http", "127.0.0.1:0")
	k := newTasker(t)
	start := func() (id string) {
		var got struct {
			Server, Tool string
			Task         struct{ TaskID string }
		}
		out := k.words(exitOK, "call "+url+" slow_report topic=tea seconds=600 --detach --format json")
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Server != url || got.Tool != "slow_report" {
			t.Fatalf("%v: %s", err, out)
		}
		return got.Task.TaskID
	}
	first, second := start(), start()
	k.words(exitUsage, "tasks cancel "+url, "err:2 tasks of "+url+" are running", "err:"+first, "err:"+second)
	k.words(exitOK, "tasks list "+url, "working: Collecting figures")
	k.words(exitOK, "tasks cancel "+url+" "+first, "cancelled")
	k.words(exitTool, "tasks wait "+url+" "+first, "err:the task was cancelled")
	k.words(exitTool, "tasks get "+url+" "+first, "cancelled")
	k.words(exitTool, "tasks get "+url+" "+first+" --format json", `"cancelled"`)
	k.words(exitOK, "tasks get "+url, "working") // the only one that runs
	k.run(exitOK, []string{"__complete", "tasks", "get", url, ""}, first, second)
	k.words(exitOK, "tasks cancel "+url, "cancelled")
}

// A server that ends with the command takes its tasks with it, so --detach does not
// pretend to work.
func TestDetachNeedsAServerThatGoesOn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := newTasker(t)
	args := []string{"slow_report", "topic=tea", "seconds=60", "--detach"}
	for _, server := range [][]string{{"builtin:demo"}, {"--", self, "serve", "demo"}} {
		line := append(append([]string{"call"}, server[:1]...), args...)
		if server[0] == "--" {
			line = append(append([]string{"call"}, args...), server...)
		}
		k.run(exitUsage, line, "err:ends with this command", "err:--force")
	}
	k.run(exitOK, append([]string{"call", "builtin:demo", "--force"}, args...), "err:tenon tasks wait builtin:demo ")
	k.words(exitProtocol, "tasks wait builtin:demo", "err:was lost when the server restarted")
	k.words(exitOK, "tasks list builtin:demo", "no tasks", "err:no longer has task")
}

// Without --detach the call waits for the task, over every transport; and a call
// that is no task is not detached.
func TestCallWaitsForTheTask(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := newTasker(t)
	k.words(exitOK, "call builtin:demo slow_report topic=tea seconds=0", "Report on tea: all is well.")
	k.words(exitOK, "call builtin:demo slow_report topic=tea seconds=0 --answer format=long", "nothing unusual was found")
	k.run(exitOK, []string{"call", "slow_report", "topic=tea", "seconds=1", "--", self, "serve", "demo"}, "Report on tea: all is well.")
	url := servingAt(t, "calc", "--http", "127.0.0.1:0")
	k.words(exitOK, "call "+url+" add a=20 b=22 --detach", "42", "err:There is no task")
	k.words(exitOK, "tasks list", "no tasks")
}
