package show

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/tenon-mcp/tenon/mcp"
)

var yes = true

func tool() *mcp.Tool {
	return &mcp.Tool{
		Name: "search", Title: "Search", Description: "Search the notes. The rest is for those who want **more**.\n\n- one\n- two",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer","default":10},"query":{"type":"string","description":"what to look for, in words that stand in the note or its title"},"where":{"type":"object","properties":{"tag":{"type":"array","items":{"type":"string"}},"kind":{"enum":["a","b"]}}}},"required":["query"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"found":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"}}}}}}`),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: &yes},
	}
}

func shown(t *testing.T, p Printer, write func(*Printer) error) string {
	t.Helper()
	var b bytes.Buffer
	p.W = &b
	if err := write(&p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestToolAtSeveralWidths(t *testing.T) {
	for width, want := range map[int]string{
		40: `search  Search
read-only

Search the notes. The rest is for those
who want more.

• one
• two

Arguments
  limit?   integer
    Default: 10.
  query    string
    what to look for, in words that
    stand in the note or its title
  where?   object
    tag?   string[]
    kind?  any
    One of: a, b.

Result
  found?    object[]
    title?  string
`,
		80: `search  Search
read-only

Search the notes. The rest is for those who want more.

• one
• two

Arguments
  limit?   integer   Default: 10.
  query    string    what to look for, in words that stand in the note or its
                     title
  where?   object
    tag?   string[]
    kind?  any       One of: a, b.

Result
  found?    object[]
    title?  string
`,
	} {
		if got := shown(t, Printer{Width: width}, func(p *Printer) error { return p.Tool(tool()) }); got != want {
			t.Errorf("at %d columns:\n%s\nnot\n%s", width, got, want)
		}
	}
}

// Whatever the width, no line of text is wider, and colours take no room.
func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	long := strings.Repeat("several words 世界 ", 30)
	tools := []*mcp.Tool{tool(), {Name: strings.Repeat("x", 64), Description: long, InputSchema: tool().InputSchema}}
	size := int64(1234567)
	for _, width := range []int{40, 80, 200} {
		for _, colour := range []bool{false, true} {
			got := shown(t, Printer{Width: width, Color: colour}, func(p *Printer) error {
				p.Tools(tools)
				p.Resources([]*mcp.Resource{{URI: "file:///a/very/long/path/that/goes/on/and/on/for/ever.md", Name: "n", Description: long, MIMEType: "text/markdown", Size: &size}})
				p.Templates([]*mcp.ResourceTemplate{{URITemplate: "note://{path}", Name: "note", Description: long}})
				p.Prompts([]*mcp.Prompt{{Name: "p", Description: long, Arguments: []mcp.PromptArgument{{Name: "a", Description: long, Required: true}}}})
				p.Discovery(&Server{Name: "s", Instructions: long, Server: &mcp.Implementation{Name: "s", Version: "1", Description: long}})
				p.Markdown("# " + long + "\n> " + long + "\n- " + long + "\n1. " + long + "\n\n" + long)
				p.Structured(json.RawMessage(`[{"a":"` + strings.TrimSpace(long) + `","b":1},{"a":"x","b":2}]`))
				return p.Err()
			})
			for line := range strings.SplitSeq(got, "\n") {
				if columns(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d columns, not %d: %s", columns(line), width, line)
				}
			}
			if !colour && strings.Contains(got, "\x1b") {
				t.Error("there are colours, and none were wanted")
			}
			if colour && !strings.Contains(got, "\x1b[1m") {
				t.Error("there are no colours")
			}
		}
	}
}

func TestResults(t *testing.T) {
	rows := json.RawMessage(`{"rows":[{"name":"Ada","born":1815},{"name":"Grace","born":1906,"rank":"admiral"}]}`)
	for _, c := range []struct {
		name string
		r    *mcp.CallToolResult
		want string
	}{
		{"rows are a table", &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(rows))}, StructuredContent: rows}, "name   born  rank\nAda    1815\nGrace  1906  admiral\n"},
		{"other values are a tree", &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":{"b":[1,{"c":"d"}]}}`)}, "a:\n  b:\n    - 1\n    - c: d\n"},
		{"text that says more is shown", &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("It is 3.")}, StructuredContent: json.RawMessage(`{"n":3}`)}, "It is 3.\n"},
		{"nothing", &mcp.CallToolResult{}, "(nothing)\n"},
		{"a failure", &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("no")}, IsError: true}, "The tool failed:\nno\n"},
		{"an image has a kind and a size", &mcp.CallToolResult{Content: mcp.Contents{mcp.Image(make([]byte, 2048), "image/png")}}, "[image image/png, 2.0 kB]\n"},
		{"a link", &mcp.CallToolResult{Content: mcp.Contents{mcp.Link(mcp.Resource{URI: "x://y", Name: "y"})}}, "→ x://y  y\n"},
		{"a sequence for terminals is left out", &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("\x1b[31mred\x1b[0m")}}, "red\n"},
	} {
		if got := shown(t, Printer{}, func(p *Printer) error { return p.Result(c.r) }); got != c.want {
			t.Errorf("%s:\n%q, not\n%q", c.name, got, c.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	const text = "# Title #\nSome `code`, **strong**, *soft* and [a link](https://x.example).\n\n```go\nx := 1 // * no *\n```\n\n- one\n  - two\n- [ ] open\n- [x] done\n3) three\n\n| a | b |\n|---|--:|\n| 1 | 22 |\n\n> quoted\n\n---\nsnake_case_name and 2 * 3 * 4"
	const want = "Title\nSome code, strong, soft and a link (https://x.example).\n\n    x := 1 // * no *\n\n• one\n  • two\n☐ open\n☑ done\n3) three\n\na  b\n1  22\n\n│ quoted\n\n────────────────────────────────────────\nsnake_case_name and 2 * 3 * 4\n"
	if got := shown(t, Printer{}, func(p *Printer) error { p.Markdown(text); return p.Err() }); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// What is written as YAML is the same value as what is written as JSON.
func TestYAMLIsTheSameValue(t *testing.T) {
	for _, raw := range []string{
		`{"tools":[{"name":"add","n":1.5,"o":{}},{"name":"sub","l":[],"deep":[[1,[2,{"a":[{"b":1}]}]],[]]}]}`,
		`{"text":"two\nlines","end":"two\nlines\n","more":"a\n\n","blank":"a\n\nb","led":" a\nb","tab":"\ta\nb","only":"\n","spaces":"a\n  \nb","list":["x\ny",{"k":"x\ny\n","z":1}]}`,
		`["true","null","yes","~","1","1.5","0x1f","-","- a","a: b","a #b","#","'","\"","a'b","[x]","{x}","*a","&a","!a","|",">","%","@","` + "`" + `","","a ","=","2026-11-15","12:30:00","on","None"]`,
		`{"true":1,"a b":2,"":3,"1":4,"a: b":5,"- x":6,"é":7,"世界":8}`,
		`{"control":"\u001b[31m \u0000 \u007f \u0085 \u2028 \u202e \ufeff \ud83d\ude00","r":"a\rb","crlf":"a\r\nb"}`,
		`"top"`, `3`, `null`, `[]`, `{}`, `[null,true,false,-1e10]`,
		`{"long":"` + strings.Repeat("word ", 100) + `"}`,
	} {
		var out bytes.Buffer
		p := &Printer{W: &out, Format: YAML}
		if err := p.Value(json.RawMessage(raw)); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var got, want any
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%s cannot be read back: %v\n%s", raw, err, out.String())
			continue
		}
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatal(err)
		}
		if back := asJSON(t, got); !reflect.DeepEqual(back, want) {
			t.Errorf("%s came back as\n%v\nfrom\n%s", raw, back, out.String())
		}
	}
}

// asJSON makes of YAML's numbers those of JSON.
func asJSON(t *testing.T, v any) (back any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestFormats(t *testing.T) {
	tools := []*mcp.Tool{{Name: "a", InputSchema: json.RawMessage(`{}`)}, {Name: "b", InputSchema: json.RawMessage(`{}`)}}
	for format, want := range map[Format]string{
		JSON:  "{\n  \"tools\": [\n    {\n      \"name\": \"a\",\n      \"inputSchema\": {}\n    },\n    {\n      \"name\": \"b\",\n      \"inputSchema\": {}\n    }\n  ]\n}\n",
		JSONL: "{\"name\":\"a\",\"inputSchema\":{}}\n{\"name\":\"b\",\"inputSchema\":{}}\n",
		YAML:  "tools:\n  - name: a\n    inputSchema: {}\n  - name: b\n    inputSchema: {}\n",
	} {
		if got := shown(t, Printer{Format: format}, func(p *Printer) error { return p.Tools(tools) }); got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
	if got := shown(t, Printer{Format: JSON}, func(p *Printer) error { return p.Tools(nil) }); got != "{\n  \"tools\": []\n}\n" {
		t.Errorf("an empty list: %q", got)
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml is a format")
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2_000_000: "2.0 MB", 3_100_000_000: "3.1 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}
