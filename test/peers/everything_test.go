package peers

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

// A guest is a client of the everything server that can do all that it asks.
type guest struct {
	*reference
	logged  steps.Collection[mcp.LogMessage]
	opened  steps.Collection[string] // pages
	decline atomic.Bool              // say no to forms
}

// everyWay runs a test over stdio and both HTTP transports.
func everyWay(t *testing.T, test func(t *testing.T, g *guest)) {
	for _, way := range []way{overStdio, overHTTP, overOlderHTTP, overFoundHTTP} {
		t.Run(string(way), func(t *testing.T) {
			parallel(t)
			test(t, meetEverything(t, way))
		})
	}
}

func meetEverything(t *testing.T, w way) *guest {
	t.Helper()
	g := &guest{}
	g.reference = w.meet(t, "server-everything", nil, nil, client.Options{
		Middleware: []mcp.Middleware{tasks.Client},
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			if g.decline.Load() {
				return e.Decline()
			}
			if strings.Contains(e.Message, "interpretations") {
				return e.Accept(map[string]any{"interpretation": e.Form.Fields[0].Options[0].Value})
			}
			// The number is whole because the published JSON Schemas allow no
			// other in an answer, although their source does.
			return e.Accept(map[string]any{"name": "Ada", "check": true, "number": 7})
		},
		ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			g.opened.Add(e.URL)
			return e.Accept(nil)
		},
		//lint:ignore SA1019 the test is about this deprecated feature
		Sampling: &client.Sampling{Create: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if len(p.Messages) != 1 || p.MaxTokens != 7 {
				return nil, errors.New("this is not what was to be asked")
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "parrot", StopReason: "endTurn",
				Content: mcp.NewSamplingContent(mcp.Text("I heard: " + p.Messages[0].Content.Blocks.Text()))}, nil
		}},
		//lint:ignore SA1019 the test is about this deprecated feature
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///srv/work", Name: "work"}}, nil
		},
		//lint:ignore SA1019 the test is about this deprecated feature
		Logging: &client.Logging{Level: mcp.LogDebug, OnMessage: func(_ context.Context, line mcp.LogMessage) { g.logged.Add(line) }},
	})
	// The server asks for the roots a moment after the start. It does not end
	// with its input while that question is open, so the answer comes first.
	t.Cleanup(func() { g.logs("Roots updated: 1 root(s) received from client") })
	return g
}

// logs waits for a log line.
func (g *guest) logs(text string) {
	g.t.Helper()
	for n := 1; ; n++ {
		got := patient(&g.logged, n)
		if len(got) < n {
			g.t.Errorf("%q was not logged, only %v", text, got)
			return
		}
		if strings.Contains(string(got[n-1].Data), text) {
			return
		}
	}
}

func TestEverythingTools(t *testing.T) { everyWay(t, everythingTools) }

func everythingTools(t *testing.T, g *guest) {
	about, err := g.Discover(g.ctx())
	if err != nil || about.Server == nil || about.Server.Name != "mcp-servers/everything" || about.Instructions == "" {
		t.Errorf("discover: %+v, %v", about, err)
	}
	equal(t, "tools", g.tools(), []string{"echo", "get-annotated-message", "get-env", "get-resource-links",
		"get-resource-reference", "get-roots-list", "get-structured-content", "get-sum", "get-tiny-image",
		"gzip-file-as-resource", "simulate-research-query", "toggle-simulated-logging", "toggle-subscriber-updates",
		"trigger-elicitation-request", "trigger-long-running-operation", "trigger-sampling-request", "trigger-url-elicitation"})
	g.says("echo", map[string]string{"message": "hello"}, "Echo: hello")
	g.says("get-sum", map[string]int{"a": 2, "b": 3}, "The sum of 2 and 3 is 5.")

	type weather struct {
		Temperature float64 `json:"temperature"`
		Humidity    float64 `json:"humidity"`
		Conditions  string  `json:"conditions"`
	}
	got, err := client.Call[weather](g.ctx(), g.Client, "get-structured-content", map[string]string{"location": "Chicago"}, nil)
	if want := (weather{36, 82, "Light rain / drizzle"}); err != nil || got != want {
		t.Errorf("get-structured-content: %+v, %v", got, err)
	}
	if _, err := client.Call[string](g.ctx(), g.Client, "get-sum", map[string]string{"a": "two"}, nil); !isToolError(err) {
		t.Errorf("get-sum of a word: %v", err)
	}
	g.contents()
	g.longRunning()
}

func isToolError(err error) bool {
	_, ok := errors.AsType[*client.ToolError](err)
	return ok
}

// contents calls the tools that return every kind of content.
func (g *guest) contents() {
	t := g.t
	t.Helper()
	if !slices.ContainsFunc(g.call("get-tiny-image", nil).Content, func(c mcp.Content) bool {
		i, ok := c.(*mcp.ImageContent)
		return ok && i.MIMEType == "image/png" && bytes.HasPrefix(i.Data, []byte("\x89PNG"))
	}) {
		t.Error("get-tiny-image: there is no picture")
	}
	links := 0
	for _, c := range g.call("get-resource-links", map[string]int{"count": 4}).Content {
		if l, ok := c.(*mcp.ResourceLink); ok {
			links++
			g.read(l.URI)
		}
	}
	if links != 4 {
		t.Errorf("get-resource-links: %d links", links)
	}
	embedded := g.call("get-resource-reference", map[string]any{"resourceType": "Blob", "resourceId": 3}).Content[1]
	if e, ok := embedded.(*mcp.EmbeddedResource); !ok || !bytes.HasPrefix(e.Resource.Blob, []byte("Resource 3:")) {
		t.Errorf("get-resource-reference: %+v", embedded)
	}
	said := g.call("get-annotated-message", map[string]string{"messageType": "success"}).Content[0]
	if m, ok := said.(*mcp.TextContent); !ok || m.Annotations == nil || *m.Annotations.Priority != 0.7 ||
		!slices.Equal(m.Annotations.Audience, []mcp.Role{mcp.RoleUser}) {
		t.Errorf("get-annotated-message: %+v", said)
	}
}

// longRunning hears progress, and gives up a call.
func (g *guest) longRunning() {
	t := g.t
	t.Helper()
	var progress []float64
	r, err := g.CallTool(g.ctx(), "trigger-long-running-operation", map[string]float64{"duration": 0.2, "steps": 4},
		&client.CallOptions{Progress: func(p mcp.ProgressParams) { progress = append(progress, p.Progress/p.Total) }})
	if err != nil || !strings.Contains(r.Content.Text(), "completed") || !slices.Equal(progress, []float64{0.25, 0.5, 0.75, 1}) {
		t.Errorf("trigger-long-running-operation: %+v, %v, progress %v", r, err, progress)
	}
	// The server goes on to the end whatever it is told, so the end is near.
	ctx, giveUp := context.WithCancel(g.ctx())
	_, err = g.CallTool(ctx, "trigger-long-running-operation", map[string]float64{"duration": 1, "steps": 20},
		&client.CallOptions{Progress: func(mcp.ProgressParams) { giveUp() }})
	giveUp()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	g.says("echo", map[string]string{"message": "alive"}, "Echo: alive")
	for end := time.Now().Add(time.Minute); g.sent("notifications/cancelled") == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // over HTTP nobody waits for it
	}
	if n := g.sent("notifications/cancelled"); n != 1 {
		t.Errorf("the server was told %d times that a call was given up", n)
	}
}

func TestEverythingAsks(t *testing.T) { everyWay(t, everythingAsks) }

// everythingAsks has the server ask for all that a client can be asked.
func everythingAsks(t *testing.T, g *guest) {
	// What was left out of the form got its default.
	g.says("trigger-elicitation-request", nil, "User provided the requested information", "Name: Ada", "Agreed to terms: true",
		"Favorite Integer: 42", "Favorite Number: 7", `"legacyTitledEnum": "pet-1"`, `"titledSingleSelectEnum": "hero-1"`, `"Guitar"`)
	g.decline.Store(true)
	g.says("trigger-elicitation-request", nil, "User declined")

	page := map[string]any{"url": "https://example.com/pay", "message": "Pay"}
	g.says("trigger-url-elicitation", page, "User completed the URL elicitation flow")
	equal(t, "pages", g.opened.Wait(0), []string{"https://example.com/pay"})
	g.opened.Reset()
	page["errorPath"] = true // the server refuses the call until another page was opened
	g.says("trigger-url-elicitation", page, "User completed the URL elicitation flow")
	equal(t, "pages", g.opened.Wait(0), []string{"https://modelcontextprotocol.io", "https://example.com/pay"})

	g.says("trigger-sampling-request", map[string]any{"prompt": "sing", "maxTokens": 7},
		"I heard: Resource trigger-sampling-request context: sing", `"model": "parrot"`)
	g.says("get-roots-list", nil, "1 total", "work", "file:///srv/work")
}

func TestEverythingResources(t *testing.T) { everyWay(t, everythingResources) }

func everythingResources(t *testing.T, g *guest) {
	resources, err := client.All(g.Resources(g.ctx()))
	var uris []string
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	var want []string
	for _, doc := range []string{"architecture", "extension", "features", "how-it-works", "instructions", "startup", "structure"} {
		want = append(want, "demo://resource/static/document/"+doc+".md")
	}
	slices.Sort(uris)
	if err != nil || !slices.Equal(uris, want) {
		t.Errorf("resources: %q, %v", uris, err)
	}
	templates, err := client.All(g.ResourceTemplates(g.ctx()))
	if err != nil || len(templates) != 2 || templates[0].URITemplate != "demo://resource/dynamic/text/{resourceId}" {
		t.Errorf("templates: %+v, %v", templates, err)
	}
	if text := g.read(want[0]).Text; !strings.Contains(text, "Architecture") {
		t.Errorf("%s: %.60q", want[0], text)
	}
	if text := g.read("demo://resource/dynamic/text/12").Text; !strings.HasPrefix(text, "Resource 12:") {
		t.Errorf("text: %q", text)
	}
	if blob := g.read("demo://resource/dynamic/blob/12").Blob; !bytes.HasPrefix(blob, []byte("Resource 12:")) {
		t.Errorf("blob: %q", blob)
	}
	if _, err := g.ReadResource(g.ctx(), "demo://no/such"); !hasCode(err, mcp.CodeInvalidParams) {
		t.Errorf("a resource that is not there: %v", err)
	}

	// Updates of a resource, a new resource, and log lines outside of calls.
	uri := "demo://resource/dynamic/text/1"
	news := g.listen(mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}, ResourcesListChanged: true})
	g.call("toggle-subscriber-updates", nil)
	g.heard(news, mcp.NotificationResourceUpdated)
	link := g.call("gzip-file-as-resource", map[string]string{"name": "hi.gz", "data": "data:text/plain,hello"}).Content[0]
	g.heard(news, mcp.NotificationResourcesListChanged)
	l, ok := link.(*mcp.ResourceLink)
	if !ok {
		t.Fatalf("gzip-file-as-resource: %+v", link)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(g.read(l.URI).Blob))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unzipped); err != nil || string(text) != "hello" {
		t.Errorf("%s: %q, %v", l.URI, text, err)
	}
	if g.sent("logging/setLevel") != 1 {
		t.Errorf("the level was set %d times", g.sent("logging/setLevel"))
	}
	g.logs("Received Subscribe Resource request for URI: " + uri)
	g.call("toggle-subscriber-updates", nil) // off again, or the server never ends
}

func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && !e.Local && e.Code == code
}

func TestEverythingPrompts(t *testing.T) { everyWay(t, everythingPrompts) }

func everythingPrompts(t *testing.T, g *guest) {
	prompts, err := client.All(g.Prompts(g.ctx()))
	var names []string
	for _, p := range prompts {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	equal(t, "prompts", names, []string{"args-prompt", "completable-prompt", "resource-prompt", "simple-prompt"})
	if err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		prompt string
		args   map[string]string
		want   string
	}{
		{"simple-prompt", nil, "This is a simple prompt without arguments."},
		{"args-prompt", map[string]string{"city": "Bern"}, "What's weather in Bern?"},
		{"args-prompt", map[string]string{"city": "Bern", "state": "BE"}, "What's weather in Bern, BE?"},
	} {
		r, err := g.GetPrompt(g.ctx(), c.prompt, c.args)
		if err != nil || len(r.Messages) != 1 || r.Messages[0].Role != mcp.RoleUser || (mcp.Contents{r.Messages[0].Content}).Text() != c.want {
			t.Errorf("%s: %+v, %v", c.prompt, r, err)
		}
	}
	r, err := g.GetPrompt(g.ctx(), "resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "5"})
	if err != nil || len(r.Messages) != 2 {
		t.Fatalf("resource-prompt: %+v, %v", r, err)
	}
	if e, ok := r.Messages[1].Content.(*mcp.EmbeddedResource); !ok || !strings.HasPrefix(e.Resource.Text, "Resource 5:") {
		t.Errorf("resource-prompt: %+v", r.Messages[1].Content)
	}
	if _, err := g.GetPrompt(g.ctx(), "args-prompt", nil); !hasCode(err, mcp.CodeInvalidParams) {
		t.Errorf("a prompt without its argument: %v", err)
	}

	engineering := &mcp.CompletionContext{Arguments: map[string]string{"department": "Engineering"}}
	for _, c := range []struct {
		params mcp.CompleteParams
		want   []string
	}{
		{mcp.CompleteParams{Ref: mcp.PromptRef("completable-prompt"), Argument: mcp.CompletionArgument{Name: "department", Value: "S"}}, []string{"Sales", "Support"}},
		{mcp.CompleteParams{Ref: mcp.PromptRef("completable-prompt"), Argument: mcp.CompletionArgument{Name: "name"}, Context: engineering}, []string{"Alice", "Bob", "Charlie"}},
		{mcp.CompleteParams{Ref: mcp.ResourceRef("demo://resource/dynamic/text/{resourceId}"), Argument: mcp.CompletionArgument{Name: "resourceId", Value: "7"}}, []string{"7"}},
	} {
		got, err := g.Complete(g.ctx(), c.params)
		if err != nil {
			t.Errorf("complete %+v: %v", c.params, err)
			continue
		}
		equal(t, "complete", got.Values, c.want)
	}
}
