package term

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// types runs the plain face on a workspace with lines as input.
func types(t *testing.T, w *workspace.Workspace, feed *Feed, typed ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := RunPlain(t.Context(), w, Options{Feed: feed, In: strings.NewReader(strings.Join(typed, "\n") + "\n"), Out: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// inSession lists what the person says in a session, as another process finds it.
func inSession(t *testing.T, w *workspace.Workspace, id string) string {
	t.Helper()
	s, err := w.Host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range s.Messages() {
		if m.Role == "user" {
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, "|")
}

// /undo takes the last turn out of the conversation, also of the one that is kept.
func TestUndoTakesTheLastTurnOut(t *testing.T) {
	feed := NewFeed()
	w := desk(t, keyword.Model{}, feed, nil)
	out := types(t, w, feed, "/undo", "good morning", "good evening", "/undo", "good night")
	has(t, out, "nothing to undo", "> good evening", "> /undo", "Removed the last turn: good evening. /redo brings it back.", "> good night")
	all, err := w.Host.Sessions()
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := inSession(t, w, all[0].ID); got != "good morning|good night" {
		t.Errorf("the session holds %q", got)
	}
}

// /approve shows a definition first, and approves what it has shown when it is
// entered again.
func TestApproveShowsFirst(t *testing.T) {
	feed := NewFeed()
	w := desk(t, keyword.Model{}, feed, nil)
	tool := func() bool {
		for _, tool := range w.Host.Tools(t.Context()) {
			if tool.Server == "calc" && tool.Tool.Name == "add" {
				_, first := w.Book.Changes("calc", tool.Tool)
				return !first
			}
		}
		t.Fatal("there is no calc/add")
		return false
	}
	has(t, types(t, w, feed, "/approve calc/add"), "Add two numbers", "calc/add is not approved yet")
	if tool() {
		t.Error("it is approved by showing it")
	}
	has(t, types(t, w, feed, "/approve calc/add", "/approve calc/add"), "calc/add is approved as it was shown")
	if !tool() {
		t.Error("it is not approved")
	}
}

// elsewhere is a session that another host has open in the same folder.
func elsewhere(t *testing.T, dir string) (other *workspace.Workspace, open *host.Session) {
	t.Helper()
	other = deskIn(t, dir, keyword.Model{}, NewFeed(), nil)
	s := other.Host.NewSession()
	if err := s.Send(context.Background(), "good morning"); err != nil {
		t.Fatal(err)
	}
	return other, s
}

// A session that another process has open is named as such, and goes on here
// after take-over; the other one goes on with a copy.
func TestSessionIsTakenOver(t *testing.T) {
	dir, feed := t.TempDir(), NewFeed()
	_, theirs := elsewhere(t, dir)
	id := theirs.ID
	w := deskIn(t, dir, keyword.Model{}, feed, nil)
	out := types(t, w, feed, "/sessions "+id, "/sessions "+id+" now", "/sessions "+id+" take-over", "good evening")
	has(t, out, "is open in process", "/resume "+id+" take-over continues it here", `unexpected argument "now"`, "> good evening")
	if got := inSession(t, w, id); got != "good morning|good evening" {
		t.Errorf("the session holds %q", got)
	}
	if err := theirs.Send(t.Context(), "good night"); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Host.Sessions(); err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := inSession(t, w, id); got != "good morning|good evening" {
		t.Errorf("the other process has overwritten it: %q", got)
	}
}

// With copy the session stays where it is open, and a copy of it goes on here.
func TestSessionIsCopied(t *testing.T) {
	dir, feed := t.TempDir(), NewFeed()
	other, open := elsewhere(t, dir)
	id := open.ID
	w := deskIn(t, dir, keyword.Model{}, feed, nil)
	types(t, w, feed, "/sessions "+id+" copy", "good evening")
	all, err := w.Host.Sessions()
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, s := range all {
		want := "good morning|good evening"
		if s.ID == id {
			want = "good morning"
		}
		if got := inSession(t, other, s.ID); got != want {
			t.Errorf("%s holds %q, want %q", s.ID, got, want)
		}
	}
}
