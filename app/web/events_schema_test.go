package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/app/editdiff"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/schema"
)

// Every event of the host that the page gets in a turn with questions has the form
// that docs/events.schema.json publishes.
func TestEventsOfThePageHaveThePublishedForm(t *testing.T) {
	raw, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := schema.NewValidator(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, nil).enter()
	var made struct{ ID string }
	s.post("/api/v1/sessions", `{}`, &made)
	seen := map[host.EventKind]int{}
	at := s.web.feed.last()
	for text, action := range map[string]string{"add 2 and 3": "once", "multiply 6 by 7": "deny"} {
		s.post("/api/v1/sessions/"+made.ID+"/send", fmt.Sprintf(`{"text":%q}`, text), nil)
		over := false
		for e := range s.stream(fmt.Sprintf("?feed=%d&wire=0", at)) {
			if e.kind != "host" {
				continue
			}
			var told host.Event
			if err := json.Unmarshal([]byte(e.data), &told); err != nil {
				t.Fatal(err)
			}
			if err := v.Check(json.RawMessage(e.data)); err != nil {
				t.Errorf("%v\n%s", err, e.data)
			}
			seen[told.Kind]++
			if told.Kind == host.EventAsk {
				s.post("/api/v1/asks/"+told.Ask.ID, `{"action":"`+action+`"}`, nil)
			}
			if over = told.Kind == host.EventResult; over {
				break
			}
		}
		if at = s.web.feed.last(); !over {
			t.Fatal("the stream ends before the turn")
		}
	}
	for _, kind := range []host.EventKind{host.EventTurn, host.EventStep, host.EventTool, host.EventAsk, host.EventReplied, host.EventDone, host.EventResult} {
		if seen[kind] == 0 {
			t.Errorf("no %s event; there are %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
	asked := host.Event{Seq: 1, Kind: host.EventAsk, Ask: &host.Ask{ID: "ask-1", Kind: host.AskApproval, Diff: &editdiff.Diff{Path: "/a", New: true, Added: 1, Text: "+x", Left: 2, Notes: []string{"n"}}}}
	data, err := json.Marshal(asked)
	if err != nil || v.Check(data) != nil {
		t.Errorf("%v, %v\n%s", err, v.Check(data), data)
	}
	asked.Ask.Diff.Added = -1
	if data, _ = json.Marshal(asked); v.Check(data) == nil {
		t.Error("the schema does not describe the diff")
	}
}
