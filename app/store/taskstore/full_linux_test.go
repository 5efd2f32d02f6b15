package taskstore_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// While the disk is full no task is created, and one that runs waits with its
// end. When there is room again, both go on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		needtest.Missing(t, "a small disk cannot be made here, which takes root: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	store := open(t, filepath.Join(dir, "tasks.db"), nil)
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { s.Close() })
	m, err := tasks.NewManager(s, &tasks.Options{Store: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	finish := make(chan struct{})
	server.AddTool(s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		<-finish
		return strings.Repeat("x", 100_000), nil
	}, m.Tool(tasks.Required, nil))
	caller := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")}}}
	call := func(method, params string) (task tasks.Task, err error) {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(params), Caller: caller})
		if err == nil {
			err = res.Decode(&task)
		}
		return task, err
	}
	task, err := call(mcp.MethodToolsCall, `{"name":"work"}`)
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	close(finish)
	for { // until the write-ahead log has no room left
		_, err := call(mcp.MethodToolsCall, `{"name":"work"}`)
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "the task store failed; try again later") {
			t.Errorf("a full disk: %v", err)
		}
		break
	}
	if got, err := call(tasks.MethodGet, `{"taskId":"`+task.ID+`"}`); err != nil || got.Status != tasks.Working {
		t.Errorf("a task that cannot store its end: %+v, %v", got, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got, err := call(tasks.MethodGet, `{"taskId":"`+task.ID+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status == tasks.Completed {
			break
		}
		if time.Since(began) > tasktest.HangGuard {
			t.Fatalf("when there is room again: %+v", got)
		}
	}
	if _, err := call(mcp.MethodToolsCall, `{"name":"work"}`); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return
		}
	}
}
