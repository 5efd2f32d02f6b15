package redistasks_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// docs/scale-out.md has these figures.
const (
	maxTaskBytes    = 1500 // of a finished task with a short result, indexes included
	maxTaskCommands = 10   // from the call of the tool to the read of the result
)

// number returns a number in what INFO prints.
func number(t *testing.T, s *redistest.Server, section, name string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `:(\d+)`).FindStringSubmatch(s.Do("INFO", section))
	if m == nil {
		t.Fatalf("INFO %s has no %s", section, name)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A task is small, and costs few commands.
func TestTaskIsSmall(t *testing.T) {
	s := redistest.Start(t, nil)
	r := newReplica(t, open(t, s.URL, redis.Options{}))
	close(r.release)
	const n = 300
	finish := func() {
		id := r.start()
		until(t, "completed", func() bool {
			rec, err := r.store.Get(t.Context(), id)
			return err == nil && rec.Task.Status == tasks.Completed
		})
	}
	finish() // what exists once
	bytes := number(t, s, "memory", "used_memory_dataset")
	for range n {
		finish()
	}
	if each := (number(t, s, "memory", "used_memory_dataset") - bytes) / n; each > maxTaskBytes {
		t.Errorf("a task takes %d bytes, want at most %d", each, maxTaskBytes)
	} else {
		t.Logf("a task takes %d bytes", each)
	}
	s.Do("CONFIG", "RESETSTAT")
	for range n {
		task, err := r.call("tools/call", `{"name":"work"}`)
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{}, 1)
		unwatch := r.store.Watch(task.ID, func() {
			select {
			case stop <- struct{}{}:
			default:
			}
		})
		for {
			if got, err := r.call(tasks.MethodGet, `{"taskId":"`+task.ID+`"}`); err != nil || got.Status == tasks.Completed {
				break
			}
			<-stop
		}
		unwatch()
	}
	total := 0
	var seen []string
	for _, m := range regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`).FindAllStringSubmatch(s.Do("INFO", "commandstats"), -1) {
		calls, _ := strconv.Atoi(m[2])
		seen = append(seen, fmt.Sprintf("%s %.1f", m[1], float64(calls)/n))
		switch m[1] {
		case "evalsha", "eval", "srem", "hmget": // the others are inside of scripts
			total += calls
		}
	}
	if each := float64(total) / n; each > maxTaskCommands {
		t.Errorf("a task takes %.1f commands, want at most %d: %s", each, maxTaskCommands, strings.Join(seen, ", "))
	} else {
		t.Logf("a task takes %.1f commands: %s", each, strings.Join(seen, ", "))
	}
}
