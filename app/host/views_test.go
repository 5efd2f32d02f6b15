package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func viewServer(t *testing.T) *server.Server {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "views", Version: "1"}, nil)
	for name, meta := range map[string]mcp.Meta{"show": apps.ToolMeta("ui://v"), "refresh": apps.ToolMeta("", apps.AppView), "think": apps.ToolMeta("", apps.Model)} {
		server.AddTool(s, name, name, func(context.Context, *mcp.Call, struct{}) (string, error) { return name + " has sesame", nil }, &server.ToolOptions{Meta: meta})
	}
	if err := apps.AddView(s, apps.View{URI: "ui://v", HTML: "<p>"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A call of a view is asked about in its name, audited, and made only for tools
// of its server that are for views; the model does not see tools for views.
func TestViewRequests(t *testing.T) {
	var records []AuditRecord
	b := newBench(t, func(o *Options) {
		o.Views = true
		o.Audit = func(r AuditRecord) error { records = append(records, r); return nil }
	}, says("done"), says("done"))
	b.attach("v", viewServer(t), "sesame")
	s := b.host.NewSession()
	view := View{ID: "id", Server: "v", Tool: "show", Session: s.ID}
	answer := "deny"
	b.answers = func(a Ask) *Reply {
		if !slices.Contains(a.Warnings, "Requested by the view of show, not by you or the model") {
			t.Errorf("the question has the warnings %q", a.Warnings)
		}
		return &Reply{Action: answer}
	}
	call := func(method, params string) (string, error) {
		r, err := b.host.ViewRequest(t.Context(), view, method, json.RawMessage(params), nil)
		return string(r), err
	}
	if _, err := call("tools/call", `{"name":"refresh","arguments":{}}`); err == nil {
		t.Error("a denied call was made")
	} else if _, denied := errors.AsType[*DeniedError](err); !denied {
		t.Error(err)
	}
	answer = "session"
	for range 2 { // the second one is not asked about
		if r, err := call("tools/call", `{"name":"refresh","arguments":{}}`); err != nil || !strings.Contains(r, "refresh has") || strings.Contains(r, "sesame") {
			t.Errorf("%s, %v", r, err)
		}
		answer = "deny"
	}
	for _, bad := range []string{`{"name":"think"}`, `{"name":"none"}`, `{"name":7}`, `{}`} {
		if r, err := call("tools/call", bad); err == nil {
			t.Errorf("%s: %s", bad, r)
		}
	}
	if r, err := call("tools/list", ``); err != nil || strings.Contains(r, "think") || !strings.Contains(r, "refresh") {
		t.Errorf("%s, %v", r, err)
	}
	if _, err := call("tasks/get", `{}`); err == nil {
		t.Error("an unknown method was served")
	}
	var what []string
	for _, r := range records {
		what = append(what, r.What+":"+r.Tool)
		if !strings.Contains(r.Why, "the view of show") {
			t.Errorf("record %+v", r)
		}
	}
	if got := strings.Join(what, " "); got != "denied:refresh call:refresh result:refresh call:refresh result:refresh" {
		t.Error(got)
	}
	if len(b.all(EventTool)) > 0 {
		t.Error("the call of a view is shown as one of the conversation")
	}
}

// What a view tells the model goes with the next message, fenced and without
// secrets; the last one counts.
func TestViewContext(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Views = true }, says("done"), says("done"))
	b.attach("v", viewServer(t), "sesame")
	s := b.host.NewSession()
	view := View{ID: "id", Server: "v", Tool: "show", Session: s.ID}
	tell := func(params string) error {
		_, err := b.host.ViewRequest(t.Context(), view, "ui/update-model-context", json.RawMessage(params), nil)
		return err
	}
	for _, bad := range []string{`{"content":"x"}`, `{"content":[{"type":"image","data":"","mimeType":"image/png"}]}`, `{"content":[{"type":"text","text":"` + strings.Repeat("x", maxViewContext+1) + `"}]}`} {
		if tell(bad) == nil {
			t.Errorf("%.60s was accepted", bad)
		}
	}
	for _, text := range []string{"old", "new: sesame"} {
		if err := tell(`{"content":[{"type":"text","text":"` + text + `"}],"structuredContent":{"n":1}}`); err != nil {
			t.Fatal(err)
		}
	}
	message := func() string {
		send(t, s, "go on")
		r := b.model.asked[len(b.model.asked)-1]
		var all []string
		for _, p := range r.Messages[len(r.Messages)-1].Parts {
			all = append(all, p.Text)
		}
		return strings.Join(all, "\n")
	}
	if got := message(); !strings.Contains(got, `<result from="v/the view of show"`) || !strings.Contains(got, "new: ") || !strings.Contains(got, `{"n":1}`) || strings.Contains(got, "old") || strings.Contains(got, "sesame") {
		t.Errorf("the model got %q", got)
	}
	if got := message(); got != "go on" {
		t.Errorf("the model got it twice: %q", got)
	}
	for _, tool := range b.model.asked[0].Tools {
		if strings.Contains(tool.Name, "refresh") {
			t.Error("the model sees a tool that is for views")
		}
	}
	view.Session = ""
	if tell(`{}`) == nil {
		t.Error("a view outside of a conversation told the model something")
	}
}

// The call of a tool with a view is saved, so that the view can be shown again.
func TestViewCallIsSaved(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Views = true }, calls("v__show", `{}`), says("done"))
	b.attach("v", viewServer(t))
	s := b.host.NewSession()
	send(t, s, "show it")
	again := New(&Options{Store: b.store})
	defer again.Close()
	got, err := again.Session(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	saved := ""
	for _, call := range got.Views() {
		saved += string(call)
	}
	if !strings.Contains(saved, `"ui":"ui://v"`) || !strings.Contains(saved, "show has sesame") {
		t.Errorf("saved: %s", saved)
	}
}

// What a view asks for is not served if the audit log cannot be written, and
// updates of its context are in the log when the model gets one.
func TestViewsAreAudited(t *testing.T) {
	var full bool
	var records []AuditRecord
	b := newBench(t, func(o *Options) {
		o.Views = true
		o.Audit = func(r AuditRecord) error {
			if full {
				return errors.New("the disk is full")
			}
			if r.What == "view" {
				records = append(records, r)
			}
			return nil
		}
	}, says("done"), says("done"))
	b.attach("v", viewServer(t), "sesame")
	s := b.host.NewSession()
	view := View{ID: "id", Server: "v", Tool: "show", Session: s.ID}
	request := func(method, params string) error {
		_, err := b.host.ViewRequest(t.Context(), view, method, json.RawMessage(params), nil)
		return err
	}
	full = true
	for _, method := range []string{"ui/open-link", "ui/message", "ui/download-file", "sampling/createMessage", "resources/read"} {
		if err := request(method, `{}`); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s was served: %v", method, err)
		}
	}
	full = false
	for range 50 {
		if err := request("ui/update-model-context", `{"content":[{"type":"text","text":"the code is sesame 4711"}]}`); err != nil {
			t.Fatal(err)
		}
	}
	if len(records) > 0 {
		t.Errorf("%d updates are in the audit log before the model gets one", len(records))
	}
	send(t, s, "go on")
	if len(records) != 1 || records[0].Tool != "ui/update-model-context" || !strings.Contains(string(records[0].Arguments), "4711") || strings.Contains(string(records[0].Arguments), "sesame") {
		t.Errorf("the audit log has %+v", records)
	}
}

// A view that uses the model is named in each question, and may use it as often as
// the user allows.
func TestViewUsesTheModel(t *testing.T) {
	turns := make([]turnFunc, maxSamplings+2)
	for i := range turns {
		turns[i] = says("done")
	}
	b := newBench(t, func(o *Options) { o.Views = true }, turns...)
	b.attach("v", viewServer(t))
	b.answers = func(a Ask) *Reply {
		if !strings.Contains(a.Message, "v’s view of show") {
			t.Errorf("the question is %q", a.Message)
		}
		return &Reply{Action: "accept"}
	}
	for i := range turns {
		r, err := b.host.ViewRequest(t.Context(), View{ID: "id", Server: "v", Tool: "show"}, "sampling/createMessage", json.RawMessage(`{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"go"}}]}`), nil)
		if err != nil || !strings.Contains(string(r), "done") {
			t.Fatalf("request %d: %s, %v", i+1, r, err)
		}
	}
}
