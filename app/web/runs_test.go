package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
)

// P6: the last ten runs of a tool are kept, in order, within a bound.
func TestRunListKeepsTheLastTen(t *testing.T) {
	var l runList
	for i := range 15 {
		c := pageCall{ID: fmt.Sprint(i), Server: "s", Tool: "t", N: l.number("s", "t")}
		l.put(c, json.RawMessage(fmt.Sprint(c.N)))
		l.put(c, json.RawMessage(fmt.Sprint(c.N))) // its end
	}
	l.put(pageCall{ID: "other", Server: "s", Tool: "u"}, json.RawMessage(`"u"`))
	got := fmt.Sprintf("%s", l.of("s", "t"))
	if got != "[6 7 8 9 10 11 12 13 14 15]" {
		t.Errorf("kept %s", got)
	}
	if n := len(l.of("s", "")); n != 11 {
		t.Errorf("the server has %d runs", n)
	}
	if _, ok := l.get("0"); ok {
		t.Error("a run that was dropped is found")
	}
	large := json.RawMessage(`"` + strings.Repeat("x", mostRunSize-2) + `"`)
	l.put(pageCall{ID: "large", Server: "s", Tool: "v"}, large)
	if all := l.of("s", ""); len(all) != 1 || l.size != len(large) {
		t.Errorf("%d runs of %d bytes are kept", len(all), l.size)
	}
}

func TestQuantile(t *testing.T) {
	times := []time.Duration{}
	for i := range 100 {
		times = append(times, time.Duration(i+1)*time.Millisecond)
	}
	for _, test := range []struct {
		n, percent int
		want       float64
	}{{100, 50, 50}, {100, 95, 95}, {1, 50, 1}, {1, 95, 1}, {2, 50, 1}, {3, 95, 3}} {
		if got := quantile(times[:test.n], test.percent); got != test.want {
			t.Errorf("p%d of %d is %v, want %v", test.percent, test.n, got, test.want)
		}
	}
}

// A list of runs has no large member; it names what is omitted, and says whether a
// tool failed. The run itself has everything.
func TestRunListIsBrief(t *testing.T) {
	var l runList
	text := strings.Repeat("x", mostMember)
	whole := json.RawMessage(`{"id":"1","phase":"done","arguments":{"a":1},"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":true},"data":"` + text + `"}`)
	l.put(pageCall{ID: "1", Server: "s", Tool: "t"}, whole)
	if got := string(l.of("s", "t")[0]); got != `{"arguments":{"a":1},"id":"1","omitted":["result","data"],"phase":"done","result":{"isError":true}}` {
		t.Errorf("listed is %.300s", got)
	}
	if got, ok := l.whole("1"); !ok || string(got) != string(whole) {
		t.Errorf("the whole run is %.300s", got)
	}
}

// The notices of a session since its last turn began are kept for pages that open it
// later, of the latest sessions.
func TestNoticesOfASession(t *testing.T) {
	var n lastNotices
	text := func(session string) string {
		all := ""
		for _, e := range n.of(session) {
			all += e.Text + " "
		}
		return all
	}
	add := func(kind host.EventKind, session, text string) {
		n.add(host.Event{Kind: kind, Session: session, Text: text})
	}
	add(host.EventNotice, "a", "old")
	add(host.EventTurn, "a", "hello")
	add(host.EventNotice, "a", "one")
	add(host.EventNotice, "a", "two")
	add(host.EventNotice, "", "of no session")
	if got := text("a"); got != "one two " {
		t.Errorf("kept is %q", got)
	}
	for i := range 2 * mostNotices {
		add(host.EventNotice, "b", fmt.Sprint(i))
	}
	if got := n.of("b"); len(got) != mostNotices || got[0].Text != fmt.Sprint(mostNotices) {
		t.Errorf("%d notices are kept", len(got))
	}
	for i := range noticedSessions {
		add(host.EventNotice, fmt.Sprint("s", i), "x")
	}
	if len(n.lists) != noticedSessions || len(n.order) != noticedSessions || text("a") != "" {
		t.Errorf("notices of %d sessions are kept", len(n.lists))
	}
}
