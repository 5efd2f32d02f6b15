package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/mcp"
)

// converse says something to a new session and waits for the answer.
func (s *site) converse(text string) (id string) {
	s.t.Helper()
	one := s.work.Host.NewSession()
	if err := one.Send(s.t.Context(), text); err != nil {
		s.t.Fatal(err)
	}
	return one.ID
}

func (s *site) said(id string) (texts []string) {
	s.t.Helper()
	one, err := s.work.Host.Session(id)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range one.Messages() {
		if m.Role == "user" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// A session that another process has open says so; it can be copied, and taken
// over.
func TestTakeOverAndCopy(t *testing.T) {
	dir := t.TempDir()
	other := newSiteIn(t, dir, nil, config.Settings{})
	id := other.converse("good morning")
	s := newSiteIn(t, dir, nil, config.Settings{}).enter()
	at := "/api/v1/sessions/" + id
	for _, path := range []string{at + "/send", at + "/undo"} {
		if r := s.do(request{method: "POST", path: path, body: `{"text":"and?"}`}); r.status != http.StatusConflict || !strings.Contains(r.body, `"openIn":"process `) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	var made host.Summary
	s.post(at+"/copy", `{}`, &made)
	if got := s.said(made.ID); made.ID == id || len(got) != 1 || got[0] != "good morning" {
		t.Errorf("the copy %s holds %q", made.ID, got)
	}
	s.post("/api/v1/sessions/"+made.ID+"/undo", `{}`, nil) // the copy is its own
	if got := s.said(id); len(got) != 1 {
		t.Errorf("what was copied holds %q", got)
	}
	s.post(at+"/take-over", `{}`, &made)
	if made.ID != id {
		t.Errorf("taken over is %+v", made)
	}
	s.post(at+"/undo", `{}`, nil)
	if r := s.do(request{method: "POST", path: "/api/v1/sessions/nowhere/take-over", body: `{}`}); r.status != http.StatusNotFound {
		t.Errorf("taking over nothing: %d", r.status)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/sessions/nowhere/copy", body: `{}`}); r.status != http.StatusNotFound {
		t.Errorf("copying nothing: %d", r.status)
	}
}

// texts are what the person said, as the API has it.
func (s *site) texts(id string) string {
	s.t.Helper()
	var got struct {
		Messages []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	s.get("/api/v1/sessions/"+id, &got)
	var all []string
	for _, m := range got.Messages {
		if m.Role == "user" {
			all = append(all, m.Parts[0].Text)
		}
	}
	return strings.Join(all, ", ")
}

// After another process has taken a session over, the page shows what that one
// wrote, and does not go on by itself.
func TestSessionTakenOverElsewhereIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	s := newSiteIn(t, dir, nil, config.Settings{}).enter()
	id := s.converse("good morning")
	before, err := s.work.Host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	other := newSiteIn(t, dir, nil, config.Settings{}).enter()
	other.post("/api/v1/sessions/"+id+"/take-over", `{}`, nil)
	theirs, err := other.work.Host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Send(t.Context(), "good evening"); err != nil {
		t.Fatal(err)
	}
	if got := s.texts(id); got != "good morning, good evening" {
		t.Errorf("the page shows %q", got)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/sessions/" + id + "/send", body: `{"text":"and?"}`}); r.status != http.StatusConflict || !strings.Contains(r.body, "openIn") {
		t.Errorf("the page goes on: %d %s", r.status, r.body)
	}

	// Taken over in the middle of a turn, it goes on as a copy. Both ids name
	// what they say.
	s.post("/api/v1/sessions/"+id+"/take-over", `{}`, nil)
	if err := theirs.Claim(true); err != nil {
		t.Fatal(err)
	}
	other.post("/api/v1/sessions/"+id+"/take-over", `{}`, nil)
	if err := before.Send(t.Context(), "in the copy"); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Send(t.Context(), "good night"); err != nil {
		t.Fatal(err)
	}
	made := before.Summary().ID
	if made == id {
		t.Fatal("there is no copy")
	}
	if got := s.texts(id); got != "good morning, good evening, good night" {
		t.Errorf("the page shows %q", got)
	}
	if got := s.texts(made); got != "good morning, good evening, in the copy" {
		t.Errorf("the copy is %q", got)
	}
	from := s.web.feed.last()
	s.post("/api/v1/sessions/"+made+"/send", `{"text":"in the copy again"}`, nil)
	for e := range s.stream("?feed=" + mustJSON(t, from) + "&wire=0") {
		if e.kind == "host" && strings.Contains(e.data, `"kind":"done"`) {
			if !strings.Contains(e.data, `"session":"`+made+`"`) {
				t.Errorf("the event is of another session: %s", e.data)
			}
			break
		}
	}
	if got := s.texts(made); got != "good morning, good evening, in the copy, in the copy again" {
		t.Errorf("the copy is %q", got)
	}
}

// A form that is not filled in as its schema says is refused with the reason, and
// the question stays open.
func TestFormThatDoesNotFitIsRefused(t *testing.T) {
	s := newSite(t, nil).enter()
	from := s.web.feed.last()
	var begun pageCall
	s.post("/api/v1/servers/calc/call", `{"tool":"average","arguments":{}}`, &begun)
	for e := range s.stream("?feed=" + mustJSON(t, from) + "&wire=0") {
		if e.kind == "host" && strings.Contains(e.data, `"kind":"ask"`) {
			break
		}
	}
	open := s.work.Host.Asks()
	if len(open) != 1 {
		t.Fatalf("open are %+v", open)
	}
	at := "/api/v1/asks/" + open[0].ID
	for body, want := range map[string]string{
		`{"action":"accept","content":{"a":"four","b":7}}`: "number",
		`{"action":"accept","content":{"a":4}}`:            "b",
		`{"action":"accept"}`:                              "a",
		`{"action":"accept","content":[1]}`:                "object",
		`{"action":"perhaps"}`:                             "choose accept",
	} {
		if r := s.do(request{method: "POST", path: at, body: body}); r.status != http.StatusBadRequest || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
		if now := s.work.Host.Asks(); len(now) != 1 || now[0].ID != open[0].ID {
			t.Fatalf("after %s open are %+v", body, now)
		}
	}
	s.post(at, `{"action":"accept","content":{"a":4,"b":7}}`, nil)
	for e := range s.stream("?feed=" + mustJSON(t, from) + "&wire=0") {
		if e.kind == "call" && strings.Contains(e.data, `"phase":"done"`) && strings.Contains(e.data, "5.5") {
			return
		}
	}
	t.Error("the call has no result")
}

// Undo takes the last turn out and returns its words; where there is none it says
// so.
func TestUndo(t *testing.T) {
	s := newSite(t, nil).enter()
	id := s.converse("good morning")
	var got struct{ Text string }
	s.post("/api/v1/sessions/"+id+"/undo", `{}`, &got)
	if said := s.said(id); got.Text != "good morning" || len(said) != 0 {
		t.Errorf("%q was taken out, and %q is left", got.Text, said)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/sessions/" + id + "/undo", body: `{}`}); r.status != http.StatusConflict || !strings.Contains(r.body, "nothing to undo") {
		t.Errorf("once more: %d %s", r.status, r.body)
	}
}

// Undo is refused while a turn runs, and while one was sent that has not begun: it
// takes nothing back, and no message is lost. A turn that has ended delays it only.
func TestUndoDuringATurn(t *testing.T) {
	s := newSite(t, nil).enter()
	id := s.converse("good morning")
	one, err := s.work.Host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	m := slowModel{make(chan struct{})}
	s.work.Host.SetModel(m)
	undo := request{method: "POST", path: "/api/v1/sessions/" + id + "/undo", body: `{}`}
	refused := func(when string) {
		t.Helper()
		if r := s.do(undo); r.status != http.StatusConflict || !strings.Contains(r.body, "a turn is running") {
			t.Errorf("%s: %d %s", when, r.status, r.body)
		}
	}
	begin, end := make(chan struct{}), make(chan struct{})
	s.web.beginTurn(one, func() error {
		<-begin
		err := one.Send(t.Context(), "and now")
		<-end
		return err
	})
	refused("before it begins")
	close(begin)
	s.until(id, func(now *shown) bool { return now.Turn != nil && strings.Contains(fmt.Sprint(now.Turn.Events), "half") })
	refused("while it runs")
	close(m.goOn)
	s.idle(id)
	if got := s.said(id); len(got) != 2 || got[1] != "and now" {
		t.Errorf("said %q", got)
	}
	done := make(chan reply)
	go func() { done <- s.do(undo) }() // waits for the end of the turn that is done
	select {
	case r := <-done:
		t.Errorf("undone while its turn ends: %d %s", r.status, r.body)
	case <-time.After(20 * time.Millisecond):
	}
	close(end)
	if r := <-done; r.status != http.StatusOK || !strings.Contains(r.body, "and now") {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}
}

// The rules and answers that decide in a session are listed and removed; a page
// that other machines can reach removes none.
func TestPermissions(t *testing.T) {
	rules := config.Settings{Rules: []config.Rule{{Effect: config.Deny, Server: "calc", Tool: "divide", CommandLine: true}}}
	for _, hosts := range [][]string{nil, {"192.0.2.1"}} {
		s := newSiteIn(t, t.TempDir(), &Options{Hosts: hosts}, rules).enter()
		if err := s.work.Book.Answer("calc", &mcp.Tool{Name: "add"}, "", "always"); err != nil {
			t.Fatal(err)
		}
		if err := s.work.Book.Answer("calc", &mcp.Tool{Name: "subtract"}, "mine", "session"); err != nil {
			t.Fatal(err)
		}
		list := func() map[string]permit.Entry {
			var got struct{ Permissions []permit.Entry }
			s.get("/api/v1/permissions?session=mine", &got)
			all := map[string]permit.Entry{}
			for _, e := range got.Permissions {
				all[e.Scope+" "+string(e.Effect)+" "+e.Name()] = e
			}
			return all
		}
		all := list()
		user, session, fixed := all["user allow calc/add"], all["session allow calc/subtract"], all["command line deny calc/divide"]
		if user.ID == "" || session.ID == "" || fixed.Fixed == "" || len(all) != 4 {
			t.Fatalf("listed: %v", all)
		}
		status := func(id string) int {
			return s.do(request{method: "POST", path: "/api/v1/permissions/remove", body: `{"id":"` + id + `","session":"mine"}`}).status
		}
		if hosts != nil {
			if got := status(user.ID); got != http.StatusForbidden || len(list()) != 4 {
				t.Errorf("removed from elsewhere: %d, %v", got, list())
			}
			continue
		}
		if a, b, c, d := status(user.ID), status(session.ID), status(fixed.ID), status("nothing"); a != 200 || b != 200 || c != http.StatusConflict || d != http.StatusConflict || len(list()) != 2 {
			t.Errorf("removed: %d %d %d %d, %v", a, b, c, d, list())
		}
	}
}

// A tool that is held back is approved as it was seen, and in no other way.
func TestApproveTool(t *testing.T) {
	s := newSite(t, nil).enter()
	if err := s.work.Book.Approve("calc", &mcp.Tool{Name: "add", Description: "as it was"}); err != nil {
		t.Fatal(err)
	}
	tool := func() (found host.Tool) {
		t.Helper()
		var got struct{ Tools []host.Tool }
		s.get("/api/v1/tools", &got)
		for _, one := range got.Tools {
			if one.Tool.Name == "add" {
				found = one
			}
		}
		return found
	}
	held := tool()
	if held.Held == "" || len(held.Changes) == 0 || held.Digest == "" {
		t.Fatalf("it is not held back: %+v", held)
	}
	for body, want := range map[string]int{
		`{"server":"calc","tool":"add"}`:                              http.StatusBadRequest,
		`{"server":"calc","tool":"add","digest":"00"}`:                http.StatusConflict,
		`{"server":"calc","tool":"x","digest":"` + held.Digest + `"}`: http.StatusNotFound,
	} {
		if r := s.do(request{method: "POST", path: "/api/v1/tools/approve", body: body}); r.status != want || tool().Held == "" {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	s.post("/api/v1/tools/approve", `{"server":"calc","tool":"add","digest":"`+held.Digest+`"}`, nil)
	if now := tool(); now.Held != "" || len(now.Changes) != 0 {
		t.Errorf("it is still held back: %+v", now)
	}
}

// The state tells whose questions are declined, and so does an event; unmute ends
// it.
func TestUnmute(t *testing.T) {
	s := newSite(t, nil).enter()
	muted := func() string {
		t.Helper()
		var got struct{ Muted map[string]string }
		s.get("/api/v1/state", &got)
		return got.Muted["calc"]
	}
	from := s.web.feed.last()
	s.work.Host.Mute("calc")
	if got := muted(); got != "calc is muted" {
		t.Errorf("the state says %q", got)
	}
	s.post("/api/v1/servers/calc/unmute", `{}`, nil)
	if got := muted(); got != "" {
		t.Errorf("afterwards the state says %q", got)
	}
	var told []string
	for e := range s.stream("?feed=" + mustJSON(t, from) + "&wire=0") {
		if e.kind == "host" && strings.Contains(e.data, `"kind":"muted"`) {
			told = append(told, e.data)
		}
		if len(told) == 2 {
			break
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "calc is muted") || strings.Contains(told[1], `"text"`) {
		t.Errorf("told were %q", told)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/servers/nobody/unmute", body: `{}`}); r.status != http.StatusNotFound {
		t.Errorf("unmuting nobody: %d", r.status)
	}
}

// A message that is queued while a turn runs follows when its step is stopped; one
// can be taken back, and one that is queued without a turn is sent.
func TestQueueAndStopOfAStep(t *testing.T) {
	s := newSite(t, nil).enter()
	m := slowModel{make(chan struct{})}
	s.work.Host.SetModel(m)
	var made struct{ ID string }
	s.post("/api/v1/sessions", `{}`, &made)
	at := "/api/v1/sessions/" + made.ID
	s.post(at+"/send", `{"text":"first"}`, nil)
	s.until(made.ID, func(now *shown) bool { return now.Turn != nil && strings.Contains(fmt.Sprint(now.Turn.Events), "half") })
	var q, other host.Queued
	s.post(at+"/queue", `{"text":"second"}`, &q)
	s.post(at+"/queue", `{"text":"third"}`, &other)
	s.post(at+"/unqueue", `{"id":"`+other.ID+`"}`, &other)
	if other.Typed != "third" {
		t.Errorf("taken back: %+v", other)
	}
	if r := s.do(request{method: "POST", path: at + "/unqueue", body: `{"id":"` + other.ID + `"}`}); r.status != http.StatusConflict {
		t.Errorf("once more: %d %s", r.status, r.body)
	}
	var now struct{ Queue []host.Queued }
	s.get(at, &now)
	if len(now.Queue) != 1 || now.Queue[0].ID != q.ID {
		t.Errorf("waiting: %+v", now.Queue)
	}
	s.post(at+"/stop", `{"step":true}`, nil)
	close(m.goOn)
	s.idle(made.ID)
	if got := s.said(made.ID); len(got) != 2 || got[1] != "second" {
		t.Errorf("said %q", got)
	}
	s.post(at+"/queue", `{"text":"alone"}`, nil)
	s.idle(made.ID)
	if got := s.said(made.ID); len(got) != 3 || got[2] != "alone" {
		t.Errorf("said %q", got)
	}
}

// shown is a session as the API shows it.
type shown struct {
	Busy  bool
	Queue []host.Queued
	Turn  *turn
}

// until waits until a session is as it should be.
func (s *site) until(id string, so func(*shown) bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var now shown
		if s.get("/api/v1/sessions/"+id, &now); so(&now) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the session is %+v", now)
		}
	}
}

// idle waits until no turn runs and nothing waits.
func (s *site) idle(id string) {
	s.t.Helper()
	s.until(id, func(now *shown) bool { return !now.Busy && len(now.Queue) == 0 })
}
