package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
)

// An example returns the messages that the log has, and is audited like any call
// of the page; only known examples and revisions are run.
func TestLearnRun(t *testing.T) {
	s := newSite(t, nil).enter()
	var got learnOutcome
	s.post("/api/v1/learn/run", `{"example":"tool","a":1.5,"b":2,"revision":"2025-06-18"}`, &got)
	if got.Server != "calc (example)" || got.Revision != "2025-06-18" || got.Error != "" || len(got.Messages) < 5 {
		t.Fatalf("%+v", got)
	}
	last := got.Messages[len(got.Messages)-1]
	if m, ok := s.work.Log.Get(last.Seq); !ok || string(m.Frame) != last.Frame || !strings.Contains(last.Frame, "3.5") {
		t.Errorf("the last message is %s, in the log %s", last.Frame, m.Frame)
	}
	s.post("/api/v1/learn/run", `{"example":"batch","a":1.5,"b":2}`, &got)
	if n := len(got.Messages); n != 5 || got.Messages[n-1].Kind != speccheck.KindBatch {
		t.Errorf("a batch: %+v", got)
	}
	if all := s.records(); len(all) < 2 || all[0].Server != "calc (example)" || all[0].Tool != "add" {
		t.Errorf("the audit log has %+v", all)
	}
	for body, status := range map[string]int{
		`{"example":"nosuch"}`:                          http.StatusNotFound,
		`{"example":"tool","revision":"2020-01-01"}`:    http.StatusBadRequest,
		`{"example":"tool","a":1e99}`:                   http.StatusBadRequest,
		`{"example":"tool","a":"; rm","b":1}`:           http.StatusBadRequest,
		`{"example":"tool","a":1,"b":1,"server":"sh"}`:  http.StatusOK, // it is not read
		`{"example":"tool","a":1,"b":1,"revision":"ü"}`: http.StatusBadRequest,
	} {
		if r := s.do(request{method: "POST", path: "/api/v1/learn/run", body: body}); r.status != status {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
}

// A rule that denies everything denies examples too.
func TestLearnIsDeniedByRules(t *testing.T) {
	s := newSiteIn(t, t.TempDir(), nil, config.Settings{Rules: []config.Rule{{Effect: config.Deny, Server: "*", Tool: "*"}}}).enter()
	for _, path := range []string{"run", "transports"} {
		if r := s.do(request{method: "POST", path: "/api/v1/learn/" + path, body: `{"example":"tool","a":1,"b":2}`}); r.status != http.StatusForbidden || !strings.Contains(r.body, "Denied") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

func TestLearnTransports(t *testing.T) {
	s := newSite(t, nil).enter()
	var got struct {
		Runs []struct {
			Transport, Result string
			Pieces            []struct{ Text string }
		}
	}
	s.post("/api/v1/learn/transports", `{"a":1.5,"b":2}`, &got)
	if len(got.Runs) != 3 || !strings.Contains(got.Runs[2].Pieces[1].Text, "text/event-stream") {
		t.Errorf("%+v", got)
	}
}

// P14: a host that uses tenon tap is known by the name that it reports, and so is
// its server.
func TestTappedHosts(t *testing.T) {
	s := newSite(t, nil).enter()
	wire := s.work.Log.Wire("node")
	add := func(dir speccheck.Dir, kind speccheck.Kind, frame string) {
		wire.Add(speccheck.Message{At: time.Now(), Dir: dir, Kind: kind, Frame: []byte(frame)})
	}
	wire.Event(recording.TapConnected)
	add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"some-editor","version":"3"}}}`)
	add(speccheck.FromServer, speccheck.KindResponse, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"weather","title":"Weather","version":"2"}}}`)
	add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`)
	s.work.Log.Wire("calc (example)").Event("not a tap")
	var got struct{ Hosts []tappedHost }
	s.get("/api/v1/hosts", &got)
	if len(got.Hosts) != 1 || got.Hosts[0].Host == nil || got.Hosts[0].Host.Name != "some-editor" || got.Hosts[0].Info == nil || got.Hosts[0].Info.Title != "Weather" ||
		got.Hosts[0].Ended || got.Hosts[0].Calls != 1 || got.Hosts[0].Revision != "2025-06-18" {
		t.Fatalf("%+v", got)
	}
	wire.Event(recording.TapEnded)
	s.get("/api/v1/hosts", &got)
	if !got.Hosts[0].Ended {
		t.Error("a tap that has ended is shown as connected")
	}
}
