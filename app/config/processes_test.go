package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) {
	edittest.Main(map[string]edittest.Job{"add": addJob, "approve": approveJob})
	leaktest.Main(m)
}

// addJob adds servers to one file, and removes every third one again.
func addJob(dir, name string, n int) (done []string) {
	file := filepath.Join(dir, "tenon.json")
	for i := range n {
		server := fmt.Sprintf("%s-%d", name, i)
		if err := Add(file, server, Entry{Command: "x"}); err != nil {
			panic(err)
		}
		if i%3 != 2 {
			done = append(done, server)
		} else if err := Remove(file, server); err != nil {
			panic(err)
		}
	}
	return done
}

// approveJob approves servers of a project.
func approveJob(dir, name string, n int) (done []string) {
	a, err := OpenApprovals(filepath.Join(dir, "approvals.json"))
	if err != nil {
		panic(err)
	}
	for i := range n {
		s := projectServer(dir, fmt.Sprintf("%s-%d", name, i))
		if err := a.Approve(s); err != nil {
			panic(err)
		}
		done = append(done, s.Name)
	}
	return done
}

func projectServer(dir, name string) Server {
	return Server{Name: name, Source: Source{File: filepath.Join(dir, ".mcp.json"), Project: true}, Kind: Stdio, Command: "x"}
}

// S1: processes that add and remove servers at once undo nothing of each other.
func TestProcessesAddServers(t *testing.T) {
	dir := t.TempDir()
	reported := edittest.Run(t, "add", dir, 4)
	root, err := open(filepath.Join(dir, "tenon.json"))
	if err != nil {
		t.Fatal(err)
	}
	servers, _ := root.member("mcpServers")
	have := map[string]bool{}
	for _, m := range servers.members() {
		have[m.name] = true
	}
	want := 0
	for _, all := range reported {
		want += len(all)
		for _, name := range all {
			if !have[name] {
				t.Errorf("%s was added and is not there", name)
			}
		}
	}
	if len(have) != want || want == 0 {
		t.Errorf("%d servers are there, want %d", len(have), want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tenon-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// S1: processes that approve servers at once lose no approval.
func TestProcessesApproveServers(t *testing.T) {
	dir := t.TempDir()
	reported := edittest.Run(t, "approve", dir, 4)
	a, err := OpenApprovals(filepath.Join(dir, "approvals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	n := 0
	for _, all := range reported {
		n += len(all)
		for _, name := range all {
			if !a.Check(projectServer(dir, name)).Approved {
				lost = append(lost, name)
			}
		}
	}
	if len(lost) > 0 || n != edittest.Changes() {
		t.Errorf("of %d approvals, %d are lost: %s", n, len(lost), strings.Join(lost, " "))
	}
}
