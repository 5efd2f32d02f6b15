package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// everything is a schema with whatever a form has to know.
const everything = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
    "kind": {"enum": ["plain", "fancy"], "default": "plain"},
    "fixed": {"const": 7},
    "place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer", "minimum": 1000, "maximum": 9999}}, "required": ["city"]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}},
    "shape": {"oneOf": [{"title": "circle", "type": "object", "properties": {"radius": {"type": "number"}}, "required": ["radius"]}, {"title": "square", "type": "object", "properties": {"side": {"type": "number"}}, "required": ["side"]}]},
    "maybe": {"type": ["string", "null"]},
    "tree": {"$ref": "#/$defs/node"},
    "extra": {"type": "object", "additionalProperties": {"type": "number"}}
  },
  "required": ["name", "fixed", "place"],
  "additionalProperties": false,
  "$defs": {"node": {"type": "object", "properties": {"label": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}}
}`

// kit is a server with a tool for each thing that the page must be able to do.
func kit(t *testing.T, version *atomic.Int32, later *atomic.Pointer[server.Server]) *server.Server {
	s := server.New(mcp.Implementation{Name: "kit", Version: "1"}, nil)
	later.Store(s)
	raw := func(name, schema string, run server.RawToolFunc) {
		if err := s.AddRawTool(mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, run); err != nil {
			t.Fatal(err)
		}
	}
	raw("echo", everything, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("got " + string(args))}}, nil
	})
	raw("slow", `{"type":"object"}`, func(ctx context.Context, c *mcp.Call, _ json.RawMessage) (*mcp.CallToolResult, error) {
		server.Progress(c, 3, 10, "three of ten")
		<-ctx.Done()
		return nil, ctx.Err()
	})
	raw("write", `{"type":"object"}`, func(_ context.Context, c *mcp.Call, _ json.RawMessage) (*mcp.CallToolResult, error) {
		r, err := server.Sample(c, "s", &mcp.CreateMessageParams{MaxTokens: 50, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("write a line"))}}})
		if err != nil {
			return nil, err
		}
		text, _ := json.Marshal(r.Content)
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("it says " + string(text))}}, nil
	})
	err := s.AddResource(mcp.Resource{URI: "kit://count", Name: "count"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "version "+string(rune('0'+version.Load()))), nil
	}, nil)
	if err == nil {
		err = s.AddTemplate(mcp.ResourceTemplate{URITemplate: "kit://{shelf}/{book}", Name: "book"}, func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "the book "+vars["book"]+" of "+vars["shelf"]), nil
		}, nil)
	}
	if err == nil {
		err = s.CompleteTemplate("kit://{shelf}/{book}", "shelf", func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
			return []string{value + "-one", value + "-two"}, nil
		})
	}
	if err == nil {
		err = s.CompleteTemplate("kit://{shelf}/{book}", "book", func(_ context.Context, _ *mcp.Call, value string, others map[string]string) ([]string, error) {
			return []string{others["shelf"] + "/" + value + "?"}, nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kitFixture(t *testing.T, version *atomic.Int32, later *atomic.Pointer[server.Server]) *fixture {
	return newFixture(t, setup{servers: []config.Server{builtinServer("kit", "kit", nil)}, builtin: func(string, url.Values) (connect.Builtin, error) { return kit(t, version, later), nil }})
}

// A form knows every kind of schema, and says what it means as JSON.
func TestForms(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	var later atomic.Pointer[server.Server]
	h := kitFixture(t, &version, &later)
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/kit/tools/echo'`)
	p.until(`document.querySelector('.raw')`)
	value := func(want string) {
		t.Helper()
		p.until(`JSON.stringify(JSON.parse(document.querySelector('.raw').value)) === JSON.stringify(` + want + `)`)
	}
	value(`{kind: 'plain', fixed: 7, place: {}}`)
	field := func(label string) string {
		return `[...document.querySelectorAll('.fields label')].find((l) => l.innerText === ` + quote(label) + `)`
	}
	write := func(label, text string) {
		t.Helper()
		p.clickOn(field(label), label)
		p.press(strings.Split(text, "")...)
	}
	choose := func(label, option string) {
		t.Helper()
		p.until(field(label))
		eval[bool](p, `(() => { const s = document.getElementById(`+field(label)+`.htmlFor); s.value = [...s.options].find((o) => o.text === `+quote(option)+`).value; s.dispatchEvent(new Event('change')); return true; })()`)
	}
	write("name", "X")
	p.sees("This needs at least 2 characters.")
	p.press("\b")
	write("name", "ab")
	write("city", "Rome")
	write("zip", "12")
	p.sees("This must be 1000 or more.")
	p.press("34")
	choose("kind", "fancy")
	p.clickText("Add tags")
	p.clickText("Add an item")
	write("1.", "one")
	p.clickText("tue")
	choose("shape", "square")
	write("side", "2.5")
	choose("maybe", "null")
	p.clickText("Add tree")
	write("label", "root")
	p.clickText("Add next")
	value(`{kind: 'fancy', fixed: 7, place: {city: 'Rome', zip: 1234}, name: 'ab', tags: ['one'], days: ['tue'], shape: {side: 2.5}, maybe: null, tree: {label: 'root', next: {}}}`)
	p.clickText("Remove 0")
	p.clickText("Run")
	p.until(`document.querySelector('.outcome pre, .outcome .md')?.innerText.includes('"side":2.5')`)
}

// Progress that arrives before the response to the request for the run stays:
// the response has the run as it began.
func TestProgressBeforeResponse(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	var later atomic.Pointer[server.Server]
	h := kitFixture(t, &version, &later)
	p := open(t, h.address(), desk)
	p.at("#/drive/kit/tools/slow", `document.querySelector('.runbar')`)
	eval[bool](p, `(() => {
		const real = fetch;
		const shown = () => document.querySelector('.outcome').innerText;
		const frame = () => new Promise((done) => setTimeout(done, 50));
		window.fetch = async (u, o) => {
			const r = await real(u, o);
			if (!String(u).endsWith('/call')) return r;
			while (!shown().includes('three of ten')) await frame();
			setTimeout(() => { window.after = shown(); }, 500);
			return r;
		};
		return true;
	})()`)
	p.clickText("Run")
	p.until(`window.after`)
	if got := eval[string](p, `window.after`); got != "three of ten" {
		t.Errorf("after the response the result shows %q", got)
	}
	p.clickText("Cancel")
	p.until(`document.querySelector('.run-meta .state')?.innerText.trim() === '#1 cancelled'`)
}

// Progress is shown and a call can be cancelled; a watched resource is read
// again when it changes; what a server wants written is shown, changed and sent.
func TestDriving(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	var later atomic.Pointer[server.Server]
	h := kitFixture(t, &version, &later)
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/kit/tools/slow'`)
	p.clickText("Run")
	p.sees("three of ten")
	p.until(`document.querySelector('.progress progress').value === 3`)
	p.clickText("Cancel")
	p.sees("You cancelled this call.")

	eval[string](p, `location.hash = '#/drive/kit/resources/kit%3A%2F%2Fcount'`)
	p.sees("version 0")
	p.clickText("Watch")
	p.sees("Reads the resource again")
	version.Store(1)
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		later.Load().ResourceUpdated("kit://count") // the subscription may still be on its way
		if eval[bool](p, `document.body.innerText.includes('version 1')`) {
			break
		}
	}
	p.sees("version 1")

	eval[string](p, `location.hash = '#/drive/kit/tools/write'`)
	p.clickText("Run")
	p.sees("asks to use the model")
	p.sees("write a line")
	p.clickText("Allow")
	p.until(`document.querySelector('#tray textarea')`)
	eval[bool](p, `(() => { const x = document.querySelector('#tray textarea'); x.value = 'a better line'; x.dispatchEvent(new Event('input')); return true; })()`)
	p.clickText("Send")
	p.until(`document.querySelector('.outcome')?.innerText.includes('a better line')`)
}

// A template is completed as it is typed, with what stands in its other fields,
// and read.
func TestTemplate(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	var later atomic.Pointer[server.Server]
	h := kitFixture(t, &version, &later)
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/kit/resources'`)
	p.click(`a[href$="resources/kit%3A%2F%2F%7Bshelf%7D%2F%7Bbook%7D"]`)
	offers := func(n int, want string) {
		t.Helper()
		p.until(fmt.Sprintf(`[...document.querySelectorAll('.fields .row:nth-child(%d) datalist option')].map((o) => o.value).join() === %s`, n, quote(want)))
	}
	p.click(`.fields .row:nth-child(1) input`)
	offers(1, "-one,-two")
	p.press("a", "b")
	offers(1, "ab-one,ab-two")
	p.click(`.fields .row:nth-child(2) input`)
	p.press("x", " ", "y")
	offers(2, "ab/x y?")
	p.clickText("Read")
	p.sees("kit://ab/x%20y")
	p.sees("the book x y of ab")
}

// A message is explained, compared, sent again, and made in two eras.
func TestMessageTools(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], eras: true})
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	seq := eval[[]int](p, `(async () => (await (await fetch('/api/v1/wire?method=tools/list')).json()).messages.map((m) => m.seq))()`)
	hash := func(n int) { eval[string](p, `location.hash = '#/wire/' + `+string(text(n))) }
	hash(seq[1])
	p.until(`document.querySelector('.message .explained')`)
	p.clickOn(`[...document.querySelectorAll('.message .explained')].find((e) => e.innerText.includes('"method"'))`, "method")
	p.until(`document.querySelector('.explained-box').innerText.includes('/method')`)
	p.clickText("Compare …")
	hash(seq[0])
	p.clickText("Compare with " + string(text(seq[1])))
	p.until(`document.querySelectorAll('.more-box .diff mark').length > 0`) // P16: only what differs
	hash(seq[1])
	p.clickText("Compare protocol versions")
	p.clickText("Call both")
	p.until(`document.querySelectorAll('.sides > div').length === 2`)
	for _, want := range []string{"2025-11-25", "2026-07-28", "initialize", "io.modelcontextprotocol/protocolVersion"} {
		p.until(`document.querySelector('.sides').innerText.includes('` + want + `')`)
	}
	p.clickText("Edit and send") // fills in the form for requests, without what the client adds
	p.until(`document.querySelector('#send-method')?.value === 'tools/list' && document.querySelector('#send-params').value === '{}'`)
	p.clickText("Send request")
	p.until(`document.querySelector('.send-out .state.ok')?.innerText === 'ok'`)
	p.at("#/wire", `document.querySelector('.wiretable')`)
	p.clickText("Pause")
	p.clickText("Resume")
	p.clickText("Clear")
	p.until(`document.querySelector('.bar .count').innerText.startsWith('0 rows of 0')`)
	p.sees("No messages yet")
}
