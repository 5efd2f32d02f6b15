package connect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
)

// approved writes a project with a server whose program is a copy of this test,
// and approves it.
func approved(t *testing.T, program string) (config.Server, *config.Approvals) {
	t.Helper()
	dir, user := t.TempDir(), t.TempDir()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"h": map[string]any{"command": program, "env": map[string]string{modeVar: "good"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(&config.Options{Dir: dir, UserDir: user, Home: user})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Server("h")
	if err != nil {
		t.Fatal(err)
	}
	approvals, err := config.OpenApprovals(filepath.Join(user, "approvals.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := approvals.Approve(s); err != nil {
		t.Fatal(err)
	}
	return s.WithApprovals(approvals), approvals
}

// A program that has changed since the person approved it is not started,
// neither by Restart nor after it has ended, until it is approved again.
func TestChangedProgramIsNotStarted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "helper.exe")
	put := func(more string) {
		t.Helper()
		if err := os.Rename(program, program+".old"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, append(code[:len(code):len(code)], more...), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, end := range map[string]func(*watched){
		"restart": func(s *watched) {
			if err := s.Restart(); err != nil {
				t.Error(err)
			}
		},
		"crash": func(s *watched) {
			p, err := os.FindProcess(s.State().Pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			put("")
			entry, approvals := approved(t, program)
			entry.Name = "h-2" // a host may call it otherwise
			s := start(t, entry, nil)
			echo(t, s, "hello")
			put("changed")
			end(s)
			eventually(t, "it has failed", func() bool { return s.State().Phase == Failed })
			if st := s.State(); st.Starts != 1 || !strings.Contains(st.Why, "changed since you approved it (binary)") || !strings.Contains(st.Why, "tenon config approve h") {
				t.Errorf("the state is %+v", st)
			}
			if _, err := s.Client().Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "tenon config approve h") {
				t.Errorf("a call: %v", err)
			}
			if err := approvals.Approve(entry); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			echo(t, s, "again")
		})
	}
}

// A project's server that nobody has approved is not started.
func TestUnapprovedIsNotStarted(t *testing.T) {
	e := entry(t, "good")
	e.Source.Project = true
	if _, err := Open(t.Context(), e, nil); err == nil || !strings.Contains(err.Error(), "you have not approved it") {
		t.Errorf("Open: %v", err)
	}
	if _, _, err := Raw(e, nil); err == nil || !strings.Contains(err.Error(), "you have not approved it") {
		t.Errorf("Raw: %v", err)
	}
}
