package api

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

// All mistakes of a file are reported in one run, in the order of its lines: those of
// the format do not hide those of jq, templates, parameters and names, and none is
// reported that only follows from another one.
func TestCheckReportsAllMistakesAtOnce(t *testing.T) {
	checkAll(t, `tenon: api/1
name: shop
api:
  base: https://api.example.com
  timeout: 30
auth: {kind: bearer, token: ghp_plain}
params:
  owner: {type: strnig, required: true}
tools:
  get thing:
    description: Get a thing
    params: {owner: $owner, n: integer, m: $ower}
    request: GET /x/{ownr}/{n}/{m}
  list:
    description: List things
    paramters: {q: string}
    request: GET /list{?q}
    output: {jq: '.[', text: '{{ .a | foo }}, {{ .b | bar }}'}
    paginate: {kind: lnk}
  post:
    descrption: Post it
    requst: {method: POSTT, path: /x}
    confirm: {mesage: "Sure about {{ .x }}?"}
  body:
    description: Send
    parameters: [a, b]
    request: {method: POST, path: "/b/{a}", body: {a: {b: "{{ .[ }}"}, c: ["{{ . | nope }}"]}}
  shared:
    description: Uses a shared parameter too
    params: {owner: $owner, id: {type: string, requird: true}}
    request: GET /{owner}/{id}
    jq: .name
    timeout: soon
resources:
  - uri: shop://{id
    name: thing
    request: GET /things/{id}
toolsets:
  default: [lst]
tests:
  - {name: t, tool: lits, expect: {check: '.('}}
`,
		`5:12: api.timeout: expected a duration such as "1m30s", got the number 30`,
		`6:29: auth[0].token: must refer to a secret`,
		`8:17: params.owner.type: must be one of array, boolean, integer, null, number, object, string, not "strnig"`,
		`10:3: tools["get thing"]: a name has 1 to 64 letters`,
		`12:32: tools["get thing"].params.n: the path needs the parameter: say required: true, or give it a default`,
		`12:44: tools["get thing"].params.m: there is no shared parameter "ower"; did you mean "owner"?`,
		`13:14: tools["get thing"].request.path: there is no parameter "ownr"; did you mean "owner"?`,
		`16:5: tools.list.paramters: unknown member; did you mean "params"?`,
		`18:18: tools.list.output.jq: invalid jq`,
		`18:30: tools.list.output.text: invalid jq: function not defined: foo/0`,
		`18:30: tools.list.output.text: invalid jq: function not defined: bar/0`,
		`19:22: tools.list.paginate.kind: the string "lnk" is not allowed; use one of`,
		`21:5: tools.post.descrption: unknown member; did you mean "description"?`,
		`22:5: tools.post.requst: unknown member; did you mean "request"?`,
		`22:22: tools.post.request.method: the string "POSTT" is not allowed; use one of`,
		`23:15: tools.post.confirm.mesage: unknown member; did you mean "message"?`,
		`23:23: tools.post.confirm.message: there is no parameter "x"`,
		`26:5: tools.body.parameters: unknown member; did you mean "params"?`,
		`26:17: tools.body.params: expected an object`,
		`27:59: tools.body.request.body.a.b: invalid jq`,
		`27:76: tools.body.request.body.c[0]: invalid jq: function not defined: nope/0`,
		`30:57: tools.shared.params.id.requird: JSON Schema has no keyword "requird"; did you mean "required"?`,
		`32:5: tools.shared.jq: unknown member here; it belongs to lookup or output`,
		`33:14: tools.shared.timeout: expected a duration`,
		`35:10: resources[0].uri: `,
		`39:13: toolsets.default[0]: there is no tool "lst"; did you mean "list"?`,
		`41:21: tests[0].tool: there is no tool "lits"; did you mean "list"?`,
		`41:43: tests[0].expect.check: invalid jq`,
	)
}

// A part of the wrong type does not lead to mistakes elsewhere.
func TestCheckDoesNotReportWhatFollows(t *testing.T) {
	const head = "tenon: api/1\nname: shop\napi: {base: 'https://api.example.com'}\n"
	checkAll(t, head+"tools: [list]\ntoolsets: {default: [list]}\ntests: [{name: t, tool: list, expect: {}}]\n",
		`4:8: tools: expected an object`)
	checkAll(t, head+"tools:\n  list:\n    description: d\n    params: [owner]\n    request: {path: 5}\n    paginate: {kind: cursor, cursor: 5, param: c}\n",
		`7:13: tools.list.params: expected an object`, `8:21: tools.list.request.path: expected a string`, `9:38: tools.list.paginate.cursor: expected a string`)
	checkAll(t, head+"tools:\n  list:\n    description: d\n    params: {owner: string}\n    request: {method: GET, address: '/{owner}'}\n",
		`8:28: tools.list.request.address: unknown member; there are body, form,`)
	checkAll(t, "tools: {list: {description: d, request: GET /x}}\n",
		`1:1: tenon: is required but missing`, `1:1: name: is required but missing`, `1:1: api: is required but missing`)
	checkAll(t, head+"tools: {list: {description: d, params: {a: integer, b: integer}, request: {method: POST, path: /x, body: '{{ . }}'}}}\n")
}

// More mistakes than one round of decoding reports are reported as well.
func TestCheckReportsManyMistakes(t *testing.T) {
	text := "tenon: api/1\nname: shop\napi: {base: 'https://api.example.com'}\ntools:\n"
	var want []string
	for range 60 {
		text += "  t" + strings.Repeat("x", len(want)) + ": {description: d, timeout: 5, request: GET /x}\n"
		want = append(want, "timeout: expected a duration")
	}
	checkAll(t, text, want...)
}

// Files as a newcomer writes them from docs/wrap-an-api.md: the report of each is what
// testdata/newcomer has beside it.
func TestCheckHelpsNewcomers(t *testing.T) {
	files, err := filepath.Glob("testdata/newcomer/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := Check(Config{Data: data, Name: filepath.Base(file)}).Error() + "\n"
		report := strings.TrimSuffix(file, ".yaml") + ".txt"
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(report, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(report)
		if err != nil || got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s (UPDATE=1 writes it):\n%s", report, got)
		}
	}
}

// {name} means the same in the path and in the query behind it.
func TestBracesInTheQueryOfAPath(t *testing.T) {
	w := newWorld(t, `
tools: {get: {description: d, params: {city: {type: string, required: true}, days: integer}, request: "GET /f/{city}?city={city}&q=x:{city}&days={days}&raw={{ .city | length }}"}}
`, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, `{}`) })
	w.says("get", `{"city":"a&b"}`)
	expect(t, "request", strings.Join(w.requests(), ""), "GET /f/a%26b?city=a%26b&q=x%3Aa%26b&raw=3")
	checkTool(t, `request: "GET /x?city={town}"`, `there is no parameter "town"`)
}

// A file that lacks a line, or ends early, is checked to the end.
func TestCheckSurvivesAnyCut(t *testing.T) {
	data, _ := packs.File("orders")
	lines := strings.SplitAfter(string(data), "\n")
	for i := 0; i < len(lines); i += 4 {
		for _, text := range []string{strings.Join(lines[:i], ""), strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")} {
			err := Check(Config{Data: []byte(text), Name: "f.yaml"})
			if _, ok := errors.AsType[*spec.Problems](err); err != nil && !ok {
				t.Errorf("without line %d: %v", i+1, err)
			}
		}
	}
}

// checkAll expects exactly these mistakes of a file, in this order.
func checkAll(t *testing.T, file string, want ...string) {
	t.Helper()
	err := Check(Config{Data: []byte(file), Name: "f.yaml"})
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	for i, line := range got {
		if i >= len(want) || !strings.Contains(line, want[i]) {
			t.Errorf("mistake %d is %s\nall:\n%v", i, line, err)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d mistakes, want %d:\n%v", len(got), len(want), err)
	}
}

// The examples of the documentation have no mistakes.
func TestExamplesOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/wrap-an-api.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(text, "tenon:") {
			text = "tenon: api/1\nname: tracker\napi: {base: https://api.example.com}\n" + text
		}
		if err := Check(Config{Data: []byte(text), Name: "example.yaml"}); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	first, _, _ := strings.Cut(blocks[0], "```")
	wrong := Check(Config{Data: []byte(strings.Replace(first, "{owner}", "{ownr}", 1)), Name: "tracker.yaml"})
	if wrong == nil || !strings.Contains(string(doc), "\n"+wrong.Error()+"\n") {
		t.Errorf("the documentation does not show the mistake as it is: %v", wrong)
	}
}
