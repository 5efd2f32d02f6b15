package term

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
)

const longTalk = `{"script":1,"model":{"provider":"script","name":"demo","context":1000}}
{"expect":{"has":"first"}}
{"text":"one "}
{"usage":{"input":600,"output":100,"cost":0.02}}
{"done":""}
{"expect":{"has":"second"}}
{"text":"two"}
{"usage":{"input":800,"output":50,"cost":0.02}}
{"done":""}
{"expect":{"has":"first"}}
{"text":"The person greeted twice."}
{"done":""}
`

// /compact says what it saved, and the summary takes the place of the older part.
func TestCompactSaysWhatItSaved(t *testing.T) {
	d := drive(t, scripted(t, longTalk), nil, nil)
	d.types("/compact")
	d.press("enter")
	d.shows("too short to be summarized")
	for _, text := range []string{"the first message", "the second message"} {
		d.types(text)
		d.press("enter")
		d.until("the turn is over", func() bool { return d.s.turns == 0 })
	}
	d.shows("context 85 %")
	d.types("/compact the greeting")
	d.press("enter")
	d.shows("tokens instead of 850")
	all := d.s.t.now().Messages()
	if len(all) != 1 || !strings.Contains(all[0].Text(), "greeted twice") {
		t.Errorf("the conversation is %+v", all)
	}
	if d.s.context >= 850 {
		t.Errorf("the status counts %d tokens", d.s.context)
	}
}

// A summary is written by a model.
func TestCompactNeedsAModel(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.types("/compact")
	d.press("enter")
	d.shows("no model is connected that could summarize")
}

// Sessions of this folder come first, then folder by folder.
func TestSessionsByFolder(t *testing.T) {
	var got []string
	for _, s := range byFolder([]host.Summary{{ID: "1", Folder: "/b"}, {ID: "2", Folder: "/a"}, {ID: "3", Folder: "/here"}, {ID: "4", Folder: "/b"}, {ID: "5", Folder: "/here"}}, "/here") {
		got = append(got, s.ID)
	}
	if strings.Join(got, "") != "35142" {
		t.Errorf("the order is %v", got)
	}
	for d, want := range map[time.Duration]string{time.Second: "just now", 5 * time.Minute: "5 min ago", 26 * time.Hour: "1 day ago", 30 * time.Hour * 24: "30 days ago"} {
		if got := age(d); got != want {
			t.Errorf("%s is %q", d, got)
		}
	}
}

// The list of sessions has headings and is filtered by typing.
func TestResumeFilters(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.s.choose(outcome{list: "sessions", items: []listItem{
		{value: "1", text: "fix the build", about: "3 messages · 2 h ago", group: "This folder"},
		{value: "2", text: "write a poem", about: "1 message · 3 days ago", group: "This folder"},
		{value: "3", text: "plan the garden", about: "9 messages · 8 days ago", group: "~/garden"},
	}})
	d.both("resume")
	d.types("garden")
	if v := d.view(); strings.Contains(v, "fix the build") || !strings.Contains(v, "plan the garden") {
		t.Errorf("typing does not filter\n%s", v)
	}
	if d.s.pane.(*choicePane).shown()[0].value != "3" {
		t.Error("the wrong session is selected")
	}
}

// /export writes Markdown or JSON, asks before it replaces a file, and leaves
// secrets out.
func TestExportMarksWhatWasStopped(t *testing.T) {
	said := func(stopped bool) string {
		return conversation(host.Summary{Title: "x"}, []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text("tell")}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("One two")}, Stopped: stopped},
		})
	}
	if got := said(true); !strings.HasSuffix(got, "One two\n\n(Stopped)\n") {
		t.Errorf("%s", got)
	}
	if got := said(false); strings.Contains(got, "Stopped") {
		t.Errorf("%s", got)
	}
}

func TestExport(t *testing.T) {
	d := drive(t, scripted(t, `{"script":1,"model":{"provider":"script","name":"demo"}}
{"when":{"role":"user"}}
{"text":"The key is s3cr3t-value-of-mine."}
{"done":""}
`), nil, nil)
	d.w.Secrets().Add("test", "s3cr3t-value-of-mine")
	file := filepath.Join(t.TempDir(), "talk.md")
	d.types("/export " + file)
	d.press("enter")
	d.shows("the conversation is empty")
	d.types("which key?")
	d.press("enter")
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	for range 2 {
		d.types("/export " + file)
		d.press("enter")
		d.until("it is over", func() bool { return d.s.turns == 0 })
	}
	d.shows("exists already")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "# which key?") || strings.Contains(string(text), "s3cr3t") {
		t.Errorf("%s %v", text, err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.types("/export " + file + " replace")
	d.press("enter")
	d.until("it is written", func() bool { return d.s.turns == 0 })
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), "# which key?") {
		t.Errorf("it was not replaced: %s", text)
	}
	other := strings.TrimSuffix(file, "md") + "json"
	d.types("/export " + other)
	d.press("enter")
	d.until("it is written", func() bool { return d.s.turns == 0 })
	text, err = os.ReadFile(other)
	var got struct {
		Title    string        `json:"title"`
		Messages []llm.Message `json:"messages"`
	}
	if err != nil || json.Unmarshal(text, &got) != nil || got.Title != "which key?" || len(got.Messages) != 2 || strings.Contains(string(text), "s3cr3t") {
		t.Errorf("%s %v", text, err)
	}
	if name := exportName(host.Summary{Title: "What's 2 + 2?", Created: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)}); name != "what-s-2-2-2026-03-04.md" {
		t.Errorf("the name is %s", name)
	}
}

// Every command is in a group of /help, and once.
func TestHelpHasEveryCommand(t *testing.T) {
	d := drive(t, nil, nil, nil)
	lines := strings.Join(helpPane().write(120, false), "\n")
	for _, c := range commands() {
		if strings.Count(lines, "/"+c.name+" ") == 0 {
			t.Errorf("/help does not have /%s", c.name)
		}
		for _, text := range []string{c.args, c.about} { // whole, in as many lines as it takes
			for word := range strings.FieldsSeq(text) {
				if !strings.Contains(lines, word) {
					t.Errorf("/help of /%s lacks %q", c.name, word)
				}
			}
		}
	}
	for _, g := range []string{"Conversation", "Model", "Tools", "Permissions", "Servers", "Program"} {
		if !strings.Contains(lines, g) {
			t.Errorf("/help has no group %s", g)
		}
	}
	for other := range otherNames {
		if c, _, err := d.s.t.parsed("/" + other); err != nil || c == nil {
			t.Errorf("/%s: %v", other, err)
		}
	}
}

// While a request waits, the line says for what, with a countdown for a retry.
func TestWaitsFor(t *testing.T) {
	d := drive(t, scripted(t, longTalk), nil, nil)
	start := d.s.now()
	later := func(by time.Duration) { d.s.now = func() time.Time { return start.Add(by) } }
	d.s.turns, d.s.act = 1, activity{began: start}
	for _, tt := range []struct {
		step host.Step
		by   time.Duration
		want string
	}{
		{host.Step{State: host.StepWaiting}, 0, "waiting for demo"},
		{host.Step{State: host.StepWaiting}, 3 * time.Second, "waiting for demo · 3 s"},
		{host.Step{State: host.StepThinking}, 75 * time.Second, "thinking · 1:15 min"},
		{host.Step{State: host.StepRetrying, Wait: host.Millis(8 * time.Second)}, 2500 * time.Millisecond, "asking again in 6 s"},
		{host.Step{State: host.StepCompacting}, 0, "summarizing the conversation"},
	} {
		d.s.act.step, d.s.act.since = &tt.step, start
		if later(tt.by); d.s.waitsFor() != tt.want {
			t.Errorf("%+v after %s: %q", tt.step, tt.by, d.s.waitsFor())
		}
		for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
			d.size(size[0], size[1])
			d.fits()
		}
	}
	d.s.turns = 0
}
