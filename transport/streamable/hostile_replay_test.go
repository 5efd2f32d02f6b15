package streamable_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// sseEvents reads as a client of the letter of the specification: an event counts
// when the empty line after it has come, and its id counts from then on.
func sseEvents(raw string) (events []string, last string) {
	var id, data string
	hasID, hasData := false, false
	for {
		line, rest, whole := strings.Cut(raw, "\n")
		if !whole {
			return events, last
		}
		raw = rest
		switch {
		case line == "":
			if hasID {
				last = id
			}
			if hasData && data != "" {
				events = append(events, data)
			}
			id, data, hasID, hasData = "", "", false, false
		case strings.HasPrefix(line, "id: "):
			id, hasID = line[4:], true
		case strings.HasPrefix(line, "data: "):
			data, hasData = line[6:], true
		}
	}
}

// A client whose connection is cut after any byte of a stream comes back and
// has heard every event once, in order; also if it is cut again.
func TestReplayAfterEveryByte(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, "")
	call := func(id int) *request {
		return in(strings.Replace(oldTool(fmt.Sprint(id), "count", `"n":3,"who":"x"`), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1))
	}
	// until reads a stream up to some number of its bytes.
	until := func(r *request, limit int) (string, bool) {
		s := f.dial()
		defer s.c.Close()
		s.write(r.on(f))
		res, err := http.ReadResponse(bufio.NewReader(s.c), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(io.LimitReader(res.Body, int64(limit)))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), len(raw) < limit
	}
	whole, _ := until(call(1), 1<<20)
	all, _ := sseEvents(whole)
	if len(all) != 4 {
		t.Fatalf("the stream is %q", whole)
	}
	resumed := 0
	for cut := range len(whole) {
		id := cut + 2
		want := slices.Clone(all)
		want[3] = strings.Replace(want[3], `"id":1,`, fmt.Sprintf(`"id":%d,`, id), 1)
		first, _ := until(call(id), cut)
		got, last := sseEvents(first)
		for rounds := 0; last != "" && rounds < 100; rounds++ {
			rest, ended := until(in("").header("Last-Event-ID", "Last-Event-ID: "+last), max(cut, 300)) // at least one event
			more, now := sseEvents(rest)
			got = append(got, more...)
			if now != "" {
				last = now
			}
			resumed++
			if ended {
				break
			}
		}
		if last != "" && !slices.Equal(got, want) {
			t.Fatalf("cut after %d bytes, the client heard %q", cut, got)
		}
		if last == "" && len(got) > 0 {
			t.Fatalf("cut after %d bytes, it heard %q and has no id to come back with", cut, got)
		}
	}
	if resumed < len(whole)/2 {
		t.Errorf("of %d cuts only %d could be resumed", len(whole), resumed)
	}
}

// Who comes back to the stream of news hears what happens from then on, and
// nothing of other streams; what happened in between is not kept.
func TestReplayOfNews(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, "")
	s, e := f.listen(in(""))
	f.RemoveTools("nan")
	e.expect("notifications/tools/list_changed")
	if e.last == "" {
		t.Fatal("news has no id")
	}
	s.c.Close()
	if a := f.raw(in(oldGated("1", "quick", 0)).on(f)); !strings.Contains(a.Text, "DONE") {
		t.Fatal(a.Text)
	}
	<-f.began
	_, e = f.listen(in("").header("Last-Event-ID", "Last-Event-ID: "+e.last))
	f.RemovePrompts("greet")
	e.expect("notifications/prompts/list_changed")
}

// L9: a client is told at once when it cannot resume: its id is unknown, of
// another session, malformed, or too old. Without the id it goes on.
func TestCannotResume(t *testing.T) {
	f := newFort(t, false, &streamable.Options{Store: &streamable.Memory{Events: 4 << 10}})
	in, other := f.enter(rev2025, ""), f.enter(rev2025, "")
	s, e := f.listen(in(""))
	f.RemoveTools("nan")
	e.expect("notifications/tools/list_changed")
	mine := e.last
	s.c.Close()
	answered := f.raw(other(oldGated("1", "quick", 0)).on(f))
	<-f.began
	if answered.Status != 200 {
		t.Fatal(answered.Text)
	}
	call := func(id string) string { // makes a call with progress and returns the id of its first event
		a := f.raw(in(strings.Replace(oldTool(id, "count", `"n":20,"who":"`+strings.Repeat("x", 200)+`"`), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)).on(f))
		first, _, _ := strings.Cut(a.Text[strings.Index(a.Text, "id: ")+4:], "\n")
		return first
	}
	evicted := call("7") // its own events push the first of them out
	for name, r := range map[string]*request{
		"unknown":      in("").header("Last-Event-ID", "Last-Event-ID: 99999999999999999999_-1"),
		"impossible":   in("").header("Last-Event-ID", "Last-Event-ID: news-999999"),
		"negative":     in("").header("Last-Event-ID", "Last-Event-ID: news--1"),
		"empty":        in("").header("Last-Event-ID", "Last-Event-ID:"),
		"of another":   other("").header("Last-Event-ID", "Last-Event-ID: "+mine),
		"evicted call": in("").header("Last-Event-ID", "Last-Event-ID: "+evicted),
		"evicted news": in("").header("Last-Event-ID", "Last-Event-ID: "+mine),
	} {
		if a := f.raw(r.on(f)); a.Status != 400 || !strings.Contains(a.Text, "cannot resume") {
			t.Errorf("%s: %d %s", name, a.Status, a.Text)
		}
	}
	_, e = f.listen(in(""))
	e.lines.Scan()
	f.RemoveTools("none")
	e.expect("notifications/tools/list_changed")
}
