package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A shelf is a server with the skill "pdf", which can change, and which counts
// what is read.
type shelf struct {
	mu     sync.Mutex
	server mcp.Handler
	tamper func(*mcp.Call, *mcp.Result)
	reads  []string
}

func newShelf(t *testing.T, files ...string) *shelf {
	s := &shelf{}
	s.change(t, files...)
	return s
}

// change replaces the files, written as path and text in turn.
func (s *shelf) change(t *testing.T, files ...string) {
	t.Helper()
	root := fstest.MapFS{"pdf/SKILL.md": {Data: []byte("---\nname: pdf\ndescription: Fill in forms\nallowed-tools: Bash\n---\nDo as references/F.md says.\n")}}
	for i := 0; i < len(files); i += 2 {
		root[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	now := server.New(mcp.Implementation{Name: "shelf", Version: "1"}, nil)
	if err := skills.Add(now, root, nil); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = now
}

func (s *shelf) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	s.mu.Lock()
	h, tamper := s.server, s.tamper
	if c.Method == mcp.MethodResourcesRead {
		s.reads = append(s.reads, string(c.Params))
	}
	s.mu.Unlock()
	res, err := h.Serve(ctx, c)
	if tamper != nil {
		tamper(c, &res)
	}
	return res, err
}

func (s *shelf) wasRead() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

const (
	pdfURI  = "skill://pdf/SKILL.md"
	loadPDF = `{"server":"docs","uri":"skill://pdf/SKILL.md"}`
	readPDF = `{"server":"docs","uri":"skill://pdf/SKILL.md","file":"references/F.md"}`
)

func send(t *testing.T, s *Session, text string) {
	t.Helper()
	if err := s.Send(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func tool(r *llm.Request, name string) string {
	i := slices.IndexFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
	if i < 0 {
		return ""
	}
	return r.Tools[i].Description
}

func TestSkillIsLoadedWhenTheUserAllowsIt(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "# The form")
	b := newBench(t, nil,
		calls(readSkillName, readPDF), // not loaded yet
		calls(loadSkillName, loadPDF),
		calls(readSkillName, readPDF),
		calls(readSkillName, `{"server":"docs","uri":"skill://pdf/SKILL.md","file":"references/G.md"}`),
		calls(readSkillName, `{"server":"docs","uri":"skill://pdf/SKILL.md","file":"../other/SKILL.md"}`),
		calls(readSkillName, `{"server":"docs","uri":"skill://pdf/SKILL.md","file":"skill://other/SKILL.md"}`),
		says("done"))
	b.attach("docs", s)
	var asked []Ask
	b.answers = func(a Ask) *Reply {
		if s.wasRead() > 0 {
			t.Error("a file was read before the user was asked")
		}
		asked = append(asked, a)
		return &Reply{Action: "once"}
	}
	send(t, b.host.NewSession(), "fill in the form")
	if len(asked) != 1 {
		t.Fatalf("asked %d times: %+v", len(asked), asked)
	}
	a := asked[0]
	if a.Kind != AskApproval || a.Server != "docs" || a.Call.Tool != pdfURI || !a.First || !a.Loud || !a.Skill || !strings.Contains(string(a.Tool.InputSchema), `"skill://pdf/references/F.md":"sha256:`) {
		t.Errorf("asked %+v with %+v", a, a.Tool)
	}
	if !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "allowed-tools") }) {
		t.Errorf("warnings: %q", a.Warnings)
	}
	first := b.model.asked[0]
	if got := tool(first, loadSkillName); !strings.Contains(got, `- pdf of server "docs", uri skill://pdf/SKILL.md: Fill in forms`) {
		t.Errorf("load_skill says %q", got)
	}
	if !strings.Contains(first.System, "</skill …>") {
		t.Errorf("system text: %q", first.System)
	}
	results := func(i int) string {
		r := b.model.asked[i+1]
		return r.Messages[len(r.Messages)-1].Text()
	}
	for i, want := range []string{
		"is not loaded: load it with load_skill first",
		"<skill from=\"docs/skill://pdf/SKILL.md\"",
		"# The form",
		"the skill does not list this file",
		"names another folder",
		"the skill does not list this file",
	} {
		if got := results(i); !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}
	if got := results(1); !strings.Contains(got, "- references/F.md (10 bytes)\n</result ") {
		t.Errorf("the files of the skill are not listed: %q", got)
	}
	if got := results(2); !strings.Contains(got, `from="docs/skill://pdf/references/F.md"`) {
		t.Errorf("the file has no origin: %q", got)
	}
	if n := s.wasRead(); n != 2 {
		t.Errorf("%d files were read: %q", n, s.reads)
	}
}

// An approval counts for the files that the user has seen.
func TestSkillApprovalEndsWhenAFileChanges(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "one")
	turns := []turnFunc{}
	for range 5 {
		turns = append(turns, calls(loadSkillName, loadPDF), says("done"))
	}
	b := newBench(t, nil, turns...)
	b.attach("docs", s)
	var asked []Ask
	action := "always"
	b.answers = func(a Ask) *Reply {
		asked = append(asked, a)
		return &Reply{Action: action}
	}
	send(t, b.host.NewSession(), "1")
	send(t, b.host.NewSession(), "2")
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	action = "deny"
	for i, files := range [][]string{
		{"pdf/references/F.md", "two"},
		{"pdf/references/F.md", "one", "pdf/new.md", "x"},
		{},
	} {
		s.change(t, files...)
		before := s.wasRead()
		send(t, b.host.NewSession(), "again")
		if len(asked) != i+2 {
			t.Fatalf("change %d: asked %d times", i, len(asked))
		}
		if a := asked[i+1]; len(a.Changes) != 1 || !strings.Contains(a.Changes[0].What, "files/skill://pdf/") {
			t.Errorf("change %d: asked with %+v", i, a.Changes)
		}
		if s.wasRead() != before {
			t.Errorf("change %d: read without approval", i)
		}
	}
}

// A file that changes while the skill is in use is not used.
func TestChangedFileOfALoadedSkillIsRefused(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "one")
	b := newBench(t, nil, calls(loadSkillName, loadPDF), func(r *llm.Request) (llm.Message, error) {
		s.change(t, "pdf/references/F.md", "two")
		return calls(readSkillName, readPDF)(r)
	}, says("done"))
	b.attach("docs", s)
	send(t, b.host.NewSession(), "go")
	if got := b.last(); !strings.Contains(got, "its digest differs") || !strings.Contains(got, "load the skill again") || strings.Contains(got, "two") {
		t.Errorf("the model got %q", got)
	}
}

func TestTamperedSkillIsNotLoaded(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "one")
	s.tamper = func(c *mcp.Call, r *mcp.Result) {
		if c.Method == mcp.MethodResourcesRead {
			r.Body = json.RawMessage(strings.Replace(string(r.Body), "Do as", "Do no", 1))
		}
	}
	b := newBench(t, nil, calls(loadSkillName, loadPDF), calls(readSkillName, readPDF), says("done"))
	b.attach("docs", s)
	session := b.host.NewSession()
	send(t, session, "go")
	for _, m := range session.Messages() {
		if strings.Contains(m.Text(), "Do no") {
			t.Errorf("the model got %q", m.Text())
		}
	}
	if got := b.last(); !strings.Contains(got, "is not loaded") {
		t.Errorf("the skill is in use: %q", got)
	}
}

// A skill without digests is asked about each time, whatever the answer and the
// rules are.
func TestDynamicSkillIsAskedAboutEachTime(t *testing.T) {
	s := newShelf(t)
	s.tamper = func(c *mcp.Call, r *mcp.Result) {
		if c.Method == skills.MethodGet || c.Method == skills.MethodList {
			text := string(r.Body)
			at := strings.Index(text, `"resources":[`)
			end := at + strings.Index(text[at:], "]") + 1
			r.Body = json.RawMessage(text[:at] + `"resources":"dynamic"` + text[end:])
		}
	}
	rules := config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}}
	b := newBench(t, func(o *Options) { o.Book = book(t, rules) }, calls(loadSkillName, loadPDF), says("1"), calls(loadSkillName, loadPDF), says("2"))
	b.attach("docs", s)
	n := 0
	b.answers = func(a Ask) *Reply {
		n++
		if !a.EachTime || !strings.Contains(a.Message, "cannot be approved for later") {
			t.Errorf("asked %+v", a)
		}
		return &Reply{Action: "always"}
	}
	session := b.host.NewSession()
	send(t, session, "1")
	send(t, session, "2")
	if n != 2 {
		t.Errorf("asked %d times", n)
	}
	quiet := newBench(t, func(o *Options) { o.Book, o.Unattended = book(t, rules), true }, calls(loadSkillName, loadPDF), says("1"))
	quiet.attach("docs", s)
	send(t, quiet.host.NewSession(), "1")
	if got := quiet.last(); !strings.Contains(got, "there is no person to ask") {
		t.Errorf("unattended: %q", got)
	}
}

// Two servers may have the same skill. Neither is taken for the other, and no
// approval counts for both. While a skill of one is in use, reading from the
// other is a question that names both.
func TestSkillsOfTwoServersStayApart(t *testing.T) {
	one, two := newShelf(t, "pdf/references/F.md", "of docs"), newShelf(t, "pdf/references/F.md", "of evil")
	evil := func(json string) string { return strings.Replace(json, `"docs"`, `"evil"`, 1) }
	b := newBench(t, nil, calls(loadSkillName, loadPDF), says("1"),
		calls(readSkillName, evil(readPDF)), calls(loadSkillName, evil(loadPDF)), calls(readSkillName, readPDF), calls(readSkillName, evil(readPDF)), says("2"))
	b.attach("docs", one)
	b.attach("evil", two)
	var asked []string
	b.answers = func(a Ask) *Reply {
		asked = append(asked, fmt.Sprint(a.Kind, " ", a.Server, " ", a.From, " ", a.EachTime))
		if a.Kind == AskApproval && !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "has a skill with the name pdf, too") }) {
			t.Errorf("warnings: %q", a.Warnings)
		}
		if a.Kind == AskFlow && a.Server == "evil" {
			return &Reply{Action: "deny"}
		}
		if a.Kind == AskFlow {
			return &Reply{Action: "once"}
		}
		return &Reply{Action: "always"}
	}
	session := b.host.NewSession()
	send(t, session, "1")
	if got := tool(b.model.asked[0], loadSkillName); !strings.Contains(got, `pdf of server "docs"`) || !strings.Contains(got, `pdf of server "evil"`) {
		t.Errorf("load_skill says %q", got)
	}
	send(t, session, "2")
	if want := []string{"approval docs  false", "approval evil  true", "flow docs evil true", "flow evil docs true"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	text := func(i int) string {
		r := b.model.asked[i]
		return r.Messages[len(r.Messages)-1].Text()
	}
	for i, want := range map[int]string{3: "is not loaded", 4: `from="evil/skill://pdf/SKILL.md"`, 5: "of docs", 6: "Denied"} {
		if got := text(i); !strings.Contains(got, want) {
			t.Errorf("request %d has %q, want %q", i, got, want)
		}
	}
	if strings.Contains(text(6), "of evil") {
		t.Errorf("read all the same: %q", text(6))
	}
}

// Reading SKILL.md in another way loads nothing.
func TestAttachedSkillIsNotLoaded(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "one")
	b := newBench(t, nil, calls(readSkillName, readPDF), says("done"))
	b.attach("docs", s)
	session := b.host.NewSession()
	send(t, session, "see @docs:"+pdfURI)
	if got := session.Messages()[0].Text(); !strings.Contains(got, "Do as") || strings.Contains(got, "<skill ") {
		t.Errorf("attached: %q", got)
	}
	if got := b.last(); !strings.Contains(got, "is not loaded") {
		t.Errorf("%q", got)
	}
}

func TestSkillsAreDeniedByRulesAndAnswers(t *testing.T) {
	s := newShelf(t)
	deny := config.Settings{Rules: []config.Rule{{Effect: config.Deny, Server: "docs", Tool: "skill:*"}}}
	b := newBench(t, func(o *Options) { o.Book = book(t, deny) }, calls(loadSkillName, loadPDF), says("1"))
	b.attach("docs", s)
	send(t, b.host.NewSession(), "1")
	if got := b.last(); !strings.Contains(got, "Denied by the rule") || strings.Contains(tool(b.model.asked[0], loadSkillName), "Fill in forms") {
		t.Errorf("%q, %q", got, tool(b.model.asked[0], loadSkillName))
	}
	quiet := newBench(t, func(o *Options) { o.Unattended = true }, calls(loadSkillName, loadPDF), says("1"))
	quiet.attach("docs", s)
	send(t, quiet.host.NewSession(), "1")
	if got := quiet.last(); !strings.Contains(got, "no rule allows docs/"+pdfURI) {
		t.Errorf("unattended: %q", got)
	}
	if s.wasRead() > 0 {
		t.Errorf("read %q", s.reads)
	}
}

// A skill that the server does not list can be loaded by its URI; one that does
// not exist, or a server without skills, is an error.
func TestUnlistedSkills(t *testing.T) {
	s := newShelf(t)
	s.tamper = func(c *mcp.Call, r *mcp.Result) {
		if c.Method == skills.MethodList {
			r.Body = json.RawMessage(`{"skills":[]}`)
		}
	}
	b := newBench(t, nil, calls(loadSkillName, loadPDF), calls(loadSkillName, `{"server":"docs","uri":"skill://none/SKILL.md"}`),
		calls(loadSkillName, `{"server":"calc","uri":"skill://pdf/SKILL.md"}`), calls(loadSkillName, `{"server":"nobody","uri":"x"}`), calls(loadSkillName, `{}`), says("1"))
	b.attach("docs", s)
	b.attach("calc", calculator())
	send(t, b.host.NewSession(), "1")
	for i, want := range []string{"<skill ", "no skill has the URI", `the server "calc" has no skills`, `no server named "nobody"`, "load_skill needs"} {
		r := b.model.asked[i+1]
		if got := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}
}

// Without skills, the model gets no tools for them.
func TestNoSkillsNoTools(t *testing.T) {
	b := newBench(t, nil, says("1"))
	b.attach("calc", calculator())
	send(t, b.host.NewSession(), "1")
	if r := b.model.asked[0]; tool(r, loadSkillName) != "" || tool(r, readSkillName) != "" || strings.Contains(r.System, "skill") {
		t.Errorf("tools %v, system %q", r.Tools, r.System)
	}
}

// A tool with the name and the definition of an approved skill is not approved.
func TestSkillApprovalDoesNotCountForATool(t *testing.T) {
	s := newShelf(t)
	bk := book(t, config.Settings{})
	b := newBench(t, func(o *Options) { o.Book = bk }, calls(loadSkillName, loadPDF), says("1"))
	b.attach("docs", s)
	b.answers = func(Ask) *Reply { return &Reply{Action: "always"} }
	send(t, b.host.NewSession(), "1")
	entry, err := skills.Get(t.Context(), b.host.server("docs").client, pdfURI)
	if err != nil {
		t.Fatal(err)
	}
	approved := skillTool(entry)
	if v := bk.Judge("docs", approved, json.RawMessage(`{}`), ""); v.Effect != config.Allow {
		t.Fatalf("the skill is not approved: %+v", v)
	}
	raw, err := mcp.Marshal(approved)
	if err != nil {
		t.Fatal(err)
	}
	if mcp.Unmarshal(raw, new(mcp.Tool)) == nil {
		t.Error("a server can list a tool with this definition")
	}
	imitation := *approved
	imitation.InputSchema = json.RawMessage(strings.Replace(string(approved.InputSchema), `"type":"skill"`, `"type":"object"`, 1))
	if v := bk.Judge("docs", &imitation, json.RawMessage(`{}`), ""); v.Effect != config.Ask || len(v.Changes) == 0 {
		t.Errorf("a tool that imitates it: %+v", v)
	}
}

// A server with very many skills costs bounded memory and text.
func TestManySkills(t *testing.T) {
	s := newShelf(t)
	var all []string
	for i := range maxSkills + 10 {
		all = append(all, fmt.Sprintf(`{"uri":"skill://s%d/SKILL.md","frontmatter":{"name":"s%d","description":%q},"resources":"dynamic"}`, i, i, strings.Repeat("long\n- ", 50)))
	}
	body := json.RawMessage(`{"skills":[` + strings.Join(all, ",") + `]}`)
	s.tamper = func(c *mcp.Call, r *mcp.Result) {
		if c.Method == skills.MethodList {
			r.Body = body
		}
	}
	b := newBench(t, nil, says("1"))
	b.attach("docs", s)
	send(t, b.host.NewSession(), "1")
	got := tool(b.model.asked[0], loadSkillName)
	if len(got) > maxSkillsShown+1000 || !strings.Contains(got, "more") || strings.Count(got, "\n- ") != strings.Count(got, "of server")+1 {
		t.Errorf("%d bytes: %.2000s", len(got), got)
	}
	if n := b.all(EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "more than 1000") {
		t.Errorf("the user was told %+v", n)
	}
}

// A session that is resumed acts on the skills that it has loaded, as they were
// then.
func TestResumedSessionHoldsItsSkills(t *testing.T) {
	s := newShelf(t, "pdf/references/F.md", "one", "pdf/references/G.md", "two")
	b := newBench(t, nil, calls(loadSkillName, loadPDF), says("1"))
	b.attach("docs", s)
	session := b.host.NewSession()
	send(t, session, "1")
	b.host.Close()

	s.change(t, "pdf/references/F.md", "one", "pdf/references/G.md", "changed", "pdf/new.md", "new")
	later := newBench(t, func(o *Options) { o.Store = b.store }, calls(readSkillName, readPDF),
		calls(readSkillName, strings.Replace(readPDF, "F.md", "G.md", 1)), calls(readSkillName, strings.Replace(readPDF, "references/F.md", "new.md", 1)), says("2"))
	later.attach("docs", s)
	resumed, err := later.host.Session(session.ID)
	if err != nil {
		t.Fatal(err)
	}
	send(t, resumed, "2")
	for i, want := range []string{"one", "The skill has changed", "does not list this file"} {
		r := later.model.asked[i+1]
		if got := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}
}
