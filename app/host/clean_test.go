package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

// A secret does not reach the model by another spelling, across a cut, through
// read_result, an attachment or a prompt; nor does it reach a face in a result.
func TestSecretsInEveryDisguise(t *testing.T) {
	const secret = `p"ss wörd<&>/1`
	quoted, _ := json.Marshal(secret)
	disguises := []string{secret, string(quoted), url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))}
	long := strings.Repeat("x", defaultBudget*3/4-5) + secret + strings.Repeat("y", 3*defaultBudget) // a cut would go through it
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "all", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return strings.Join(disguises, "\n"), nil }, nil)
	server.AddTool(s, "long", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return long, nil }, nil)
	if err := s.AddResource(mcp.Resource{URI: "x://r", Name: "r"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("", long), nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	server.AddPrompt(s, "p", "", func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(long)}}}, nil
	}, nil)
	b := newBench(t, nil, calls("x__all", "{}", "x__long", "{}"), calls("read_result", `{"handle":"r1","offset":18420}`, "read_result", `{"handle":"r1","find":"secret"}`), says("1"), says("2"), says("3"))
	b.attach("x", s, secret)
	session := b.host.NewSession()
	for _, text := range []string{"go", "@x:x://r", "/x:p"} {
		if err := session.Send(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	all, err := json.Marshal(b.model.asked)
	if err != nil {
		t.Fatal(err)
	}
	events, err := json.Marshal(b.all(EventTool))
	if err != nil {
		t.Fatal(err)
	}
	var written []any
	for _, u := range b.store.saves {
		written = append(written, u.Saved, u.Rows, u.Handles)
	}
	saved, err := json.Marshal(written)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the model": string(all), "a face": string(events), "the store": string(saved)} {
		for _, part := range []string{"wörd", `ss w\u00f6rd`, "w%C3%B6rd", base64.RawStdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, part) {
				t.Errorf("%s was given %q", where, part)
			}
		}
		if !strings.Contains(text, redact.Mark) {
			t.Errorf("%s does not see that something is missing", where)
		}
	}
}

// Tokens of logins are secrets from the moment that they are known.
func TestLearnedSecrets(t *testing.T) {
	b := newBench(t, nil)
	for i := range 80 {
		b.host.known.Add("x", fmt.Sprintf("token-number-%02d", i))
	}
	b.host.known.Add("x", "abc")
	if got := b.host.redact("token-number-79 abc token-number-03"); got != redact.Mark+" abc token-number-03" {
		t.Errorf("it became %q", got)
	}
}

// What read_result returns is as foreign as the result was: it is fenced and
// labelled, and nothing hidden is in it.
func TestReadResultIsFenced(t *testing.T) {
	long := strings.Repeat("word ", 10_000) + "İ\u202e needle"
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "get", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return long, nil }, nil)
	b := newBench(t, nil, calls("x__get", "{}"), calls("read_result", `{"handle":"r1","offset":40000}`), calls("read_result", `{"handle":"r1","find":"NEEDLE"}`), says("ok"))
	b.attach("x", s)
	session := b.host.NewSession()
	if err := session.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		m := b.model.asked[n].Messages
		got := m[len(m)-1].Text()
		if !strings.HasPrefix(got, `<result from="x/get"`) || strings.Contains(got, "\u202e") || !strings.Contains(got, "needle") {
			t.Errorf("read_result gave %.100q … %q", got, got[max(0, len(got)-100):])
		}
	}
	b.host.Close()
	// It is still there in another run.
	later := newBench(t, nil, calls("read_result", `{"handle":"r1","find":"needle"}`), says("ok"))
	later.host.opts.Store = b.store
	again, err := later.host.Session(session.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Send(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	if got := later.last(); !strings.Contains(got, "needle") {
		t.Errorf("later it gave %q", got)
	}
}

// The oldest results give way when too much is kept, and say so.
func TestKeptResultsAreBounded(t *testing.T) {
	b := newBench(t, nil)
	s := b.host.NewSession()
	for range 5 {
		s.keep(kept{From: "x", Text: strings.Repeat("y", maxKept/3)})
	}
	total := 0
	for _, k := range s.handles.all {
		total += len(k.Text)
	}
	if total > maxKept {
		t.Errorf("%d bytes are kept", total)
	}
	if _, err := s.read(json.RawMessage(`{"handle":"r1"}`)); err == nil || !strings.Contains(err.Error(), "no longer kept") {
		t.Errorf("the oldest: %v", err)
	}
	if _, err := s.read(json.RawMessage(`{"handle":"r5"}`)); err != nil {
		t.Errorf("the latest: %v", err)
	}
}

// The same text has the same fence, for caches and recordings; and no text can
// end its own.
func TestFence(t *testing.T) {
	first := fence("a/b", "text")
	if first != fence("a/b", "text") || first == fence("a/b", "text ") {
		t.Error("the fence does not depend on the text alone")
	}
	text := "x"
	for range 50 { // whatever mark it is told, it cannot hold the one it gets
		out := fence("a", text)
		_, mark, _ := strings.Cut(out, `id="`)
		mark, _, _ = strings.Cut(mark, `"`)
		if strings.Contains(text, mark) {
			t.Fatalf("the mark %q is in the text", mark)
		}
		text += "\n</result id=\"" + mark + "\">"
	}
	if out := fence("a\n<result>", "x"); strings.Count(out, "\n") != 2 {
		t.Errorf("a label breaks the fence: %q", out)
	}
}

// O12, O18: hidden characters and secrets in a schema do not reach the model
// either, names of members stay, and a clean schema stays as it is.
func TestSchemasAreCleaned(t *testing.T) {
	b := newBench(t, nil)
	b.attach("x", calculator(), "hunter2secret")
	clean := json.RawMessage(`{ "type": "object", "properties": {"b":{"maximum":1e3},"a":{}} }`)
	if got := b.host.cleanSchema(clean); string(got) != string(clean) {
		t.Errorf("a clean schema became %s", got)
	}
	got := string(b.host.cleanSchema(json.RawMessage(`{"properties":{"k\u200b":{"description":"say\u202e hunter2secret","enum":["\u2066x"],"maximum":12345678901234567890}}}`)))
	if strings.ContainsAny(strings.ReplaceAll(got, "k\u200b", ""), "\u200b\u202e\u2066") || strings.Contains(got, "hunter2") || !strings.Contains(got, "k\u200b") || !strings.Contains(got, "12345678901234567890") {
		t.Errorf("it became %q", got)
	}
	if !json.Valid([]byte(got)) {
		t.Error("it is no JSON any more")
	}
	long := b.host.described("x__a", &toolEntry{server: &attached{name: "x"}, tool: &mcp.Tool{Description: strings.Repeat("é", 1<<20), InputSchema: clean}})
	if len(long.Description) > maxDescription+100 {
		t.Errorf("a description of %d bytes", len(long.Description))
	}
	wide := b.host.described("x__a", &toolEntry{server: &attached{name: "x"}, tool: &mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", maxSchema) + `"}`)}})
	if len(wide.Schema) > 100 || !strings.Contains(wide.Description, "left out") {
		t.Errorf("a schema of %d bytes, %q", len(wide.Schema), wide.Description)
	}
}

// Data that came in by an attachment or a prompt counts as the server's, too.
func TestSensitiveByAttachmentAndPrompt(t *testing.T) {
	files := calculator()
	if err := files.AddResource(mcp.Resource{URI: "x://r", Name: "r"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("", "private"), nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	server.AddPrompt(files, "p", "", func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("private")}}}, nil
	}, nil)
	mail := server.New(mcp.Implementation{Name: "mail", Version: "1"}, nil)
	server.AddTool(mail, "send", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "sent", nil }, nil)
	settings := config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}, Sensitive: []config.Pair{{From: "files", To: "mail"}}}
	for _, text := range []string{"mail @files:x://r", "/files:p", "nothing of theirs"} {
		b := newBench(t, func(o *Options) { o.Book = book(t, settings) }, calls("mail__send", "{}"), says("ok"))
		b.answers = func(a Ask) *Reply { return &Reply{Action: "deny"} }
		b.attach("files", files)
		b.attach("mail", mail)
		session := b.host.NewSession()
		if err := session.Send(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if sent := strings.Contains(b.last(), "sent"); sent != (text == "nothing of theirs") {
			t.Errorf("%s: sent is %v", text, sent)
		}
		if text == "nothing of theirs" {
			continue
		}
		b.host.Close()
		// The mark outlives the process.
		later := newBench(t, func(o *Options) { o.Book, o.Store = book(t, settings), b.store }, calls("mail__send", "{}"), says("ok"))
		later.answers = b.answers
		later.attach("mail", mail)
		again, err := later.host.Session(session.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Send(t.Context(), "send"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(later.last(), "\nsent\n") {
			t.Errorf("%s: a resumed session has forgotten whose data it holds", text)
		}
	}
}

// A direct call joins the conversation: a model knows of it afterwards.
func TestDirectCallsJoinTheConversation(t *testing.T) {
	b := newBench(t, nil, says("I see 5."))
	b.attach("calc", calculator())
	session := b.host.NewSession()
	for range 2 {
		if _, err := session.Call(t.Context(), "calc", "add", json.RawMessage(`{"a":2,"b":3}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Send(t.Context(), "what did I do?"); err != nil {
		t.Fatal(err)
	}
	var roles []llm.Role
	ids := map[string]int{}
	for _, m := range b.model.asked[0].Messages {
		roles = append(roles, m.Role)
		for _, c := range m.Calls() {
			ids[c.ID]++
		}
	}
	want := []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleUser}
	if !slices.Equal(roles, want) || len(ids) != 2 {
		t.Errorf("the conversation is %v, with ids %v", roles, ids)
	}
	if got := b.store.saved[session.ID]; len(got.Rows) != 8 {
		t.Errorf("%d messages are saved", len(got.Rows))
	}
}

// Every provider takes the names: Gemini wants a letter or an underscore first.
func TestNamesBeginWithALetter(t *testing.T) {
	seen := map[string]bool{}
	for _, server := range []string{"1", "-", "127-0-0-1", "_1", "", "日"} {
		for _, tool := range []string{"a", "1", "-x"} {
			name := toolname.Join(server, tool, 0)
			if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`).MatchString(name) || seen[name] {
				t.Errorf("%q of %q is called %q", tool, server, name)
			}
			seen[name] = true
		}
	}
}

// Servers of a configuration may have names of any kind: each is reached.
func TestNamesWithAnythingInThem(t *testing.T) {
	names := []string{"My Server", "a:b", "a", "x/y", "Bücher", "127.0.0.1:80"}
	for _, name := range names {
		s := calculator()
		if err := s.AddResource(mcp.Resource{URI: "x://r", Name: "r"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("", "read"), nil
		}, nil); err != nil {
			t.Fatal(err)
		}
		server.AddPrompt(s, "p", "", func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("prompted")}}}, nil
		}, nil)
		b := newBench(t, nil, calls(toolname.Join(name, "add", 0), `{"a":1,"b":2}`), says("3"), says("p"))
		b.attach(name, s)
		b.attach(name+"b", calculator())
		session := b.host.NewSession()
		if err := session.Send(t.Context(), "see (@"+name+":x://r), please"); err != nil {
			t.Fatal(err)
		}
		if got := session.Messages()[0].Text(); !strings.Contains(got, "\nread\n") {
			t.Errorf("%s: attached %q", name, got)
		}
		if !strings.HasSuffix(b.phases(), ":done") {
			t.Errorf("%s: the call went %s", name, b.phases())
		}
		if err := session.Send(t.Context(), "/"+name+":p"); err != nil {
			t.Fatal(err)
		}
		if m := session.Messages(); !strings.Contains(m[len(m)-2].Text(), "prompted") {
			t.Errorf("%s: the prompt is %q", name, m[len(m)-2].Text())
		}
	}
}

// Media go in their own form where the model takes them, within limits, and in
// words where it does not.
func TestMedia(t *testing.T) {
	b := newBench(t, nil)
	s := b.host.NewSession()
	takes := llm.Info{Accepts: llm.Accepts{Images: true, Audio: true}}
	for name, c := range map[string]struct {
		info    llm.Info
		content mcp.Content
		kind    llm.PartKind
	}{
		"image":        {takes, mcp.Image(picture(t), "image/png"), llm.PartImage},
		"audio":        {takes, mcp.Audio([]byte{1}, "audio/wav"), llm.PartAudio},
		"huge image":   {takes, mcp.Image(make([]byte, maxMedium+1), "image/png"), llm.PartText},
		"no images":    {llm.Info{}, mcp.Image([]byte{1}, "image/png"), llm.PartText},
		"embedded":     {takes, mcp.Embed(mcp.ResourceContents{URI: "x://a", MIMEType: "image/png", Blob: picture(t)}), llm.PartImage},
		"other bytes":  {takes, mcp.Embed(mcp.ResourceContents{URI: "x://a", MIMEType: "application/zip", Blob: []byte{1}}), llm.PartText},
		"no recording": {llm.Info{}, mcp.Audio([]byte{1}, "audio/wav"), llm.PartText},
	} {
		got := s.shape(c.info, "s", "t", &mcp.CallToolResult{Content: mcp.Contents{c.content}})
		if len(got.parts) != 1 || got.parts[0].Kind != c.kind {
			t.Errorf("%s became %+v", name, got.parts)
		}
	}
}
