package spec

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

const good = `tenon: api/1
name: tracker
api:
  base: https://api.example.com
auth: {kind: bearer, token: "${env:T}"}
params:
  owner: {type: string, required: true}
tools:
  get:
    description: Get it
    params: {owner: $owner, n: integer}
    request: GET /x/{owner}/{n}
    error: {status: 404, message: no}
    then: {request: POST /y}
prompts:
  p: {text: hello}
`

func TestShortFormsAreWrittenOut(t *testing.T) {
	f, err := Load("a.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	get := f.Tools["get"]
	if get.Request.Method != "GET" || get.Request.Path != "/x/{owner}/{n}" || len(get.Error) != 1 || get.Error[0].Status[0] != 404 || get.Then[0].Request.Path != "/y" {
		t.Errorf("%+v", get)
	}
	if string(get.Params["owner"]) != `{"type":"string","required":true}` || string(get.Params["n"]) != `{"type":"integer"}` {
		t.Errorf("params: %s", get.Params)
	}
	if len(f.Auth) != 1 || f.Prompts["p"].Messages[0].Text != "hello" {
		t.Errorf("%+v %+v", f.Auth, f.Prompts)
	}
}

// All mistakes are reported at once, each with its position and advice.
func TestAllMistakesAtOnce(t *testing.T) {
	text := `tenon: api/1
name: tracker
api:
  base: https://api.example.com
tools:
  first:
    descriptio: x
    request: GET /x
  second:
    description: y
    request: {method: FETCH, path: /x}
    params: {owner: $ower}
  third:
    description: z
    timeout: 5
    request: GET /z
params:
  owner: {type: string}
resources:
  - uri: 5
    name: n
    request: GET /x
`
	f, err := Load("a.yaml", []byte(text))
	problems, ok := errors.AsType[*Problems](err)
	if !ok {
		t.Fatal(err)
	}
	for _, want := range []string{
		`a.yaml:7:5: tools.first.descriptio: unknown member; did you mean "description"?`,
		"a.yaml:11:23: tools.second.request.method: ",
		`a.yaml:12:21: tools.second.params.owner: there is no shared parameter "ower"; did you mean "owner"?`,
		"a.yaml:15:14: tools.third.timeout: expected a duration",
		"a.yaml:20:10: resources[0].uri: expected a string",
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("missing %q in\n%v", want, problems)
		}
	}
	if f == nil || len(f.Tools) != 3 || f.Tools["first"].Request.Path != "/x" || len(f.Resources) != 1 {
		t.Errorf("the rest of the file was not decoded: %+v", f)
	}
	if n := len(problems.List); n != 5 {
		t.Errorf("%d mistakes, want 5:\n%v", n, problems)
	}
}

func TestSyntaxMistakesHaveAPosition(t *testing.T) {
	_, err := Load("a.yaml", []byte("tenon: api/1\nname: [a\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:2:") {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"tenon: api/1\n\tname: x\n", "tenon: api/1\napi:\n\tbase: x\n"} {
		if _, err := Load("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "a tab at the beginning of the line; indent with spaces") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "[]", "a: *x", "a: 0x10", "a: 1\na: 2", "a: !!binary x", strings.Repeat("[", 5000)} {
		if _, err := Load("a.yaml", []byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// A few lines of aliases do not become millions of values.
func TestAliasBombsAreRefused(t *testing.T) {
	text := "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 10; i++ {
		prev := string(rune('0' + i - 1))
		text += "a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat("*a"+prev+",", 10) + "1]\n"
	}
	if _, err := Load("a.yaml", []byte(text)); err == nil {
		t.Error("accepted")
	}
}

// The published schema is that of the loader, and accepts what the loader accepts.
func TestPublishedSchema(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../../docs/api.schema.json"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, append(want, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != string(want)+"\n" {
		t.Errorf("docs/api.schema.json is not the schema of the loader (%v); run UPDATE=1 go test -run PublishedSchema ./builtin/api/spec", err)
	}
	v, err := schema.NewValidator(want, nil)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := read([]byte(good))
	if err := v.Check(root.append(nil)); err != nil {
		t.Errorf("the schema refuses a good file:\n%v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("tenon: api/1\ntools: {a: {request: x, then: {}, error: {status: 4}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Load("f", data)
		if err == nil && file == nil {
			t.Error("neither a file nor an error")
		}
		if problems, ok := errors.AsType[*Problems](err); ok {
			_ = problems.Error()
		}
	})
}

// A file that would take the parser minutes or gigabytes is refused at once, and says
// why.
func TestHostileFilesAreRefusedAtOnce(t *testing.T) {
	const head = "tenon: api/1\nname: x\ntools:\n  "
	for text, want := range map[string]string{
		strings.Repeat("- ", 1<<20):  "x.yaml:4:1: the line has more than 200 of - ? : & and ! in a row; put a text in quotes",
		strings.Repeat("? ", 1<<20):  "x.yaml:4:1: the line has more than 200 of",
		strings.Repeat("a: ", 1<<20): "x.yaml:4:1: the line has more than 200 of",
		strings.Repeat("!a ", 1<<20): "x.yaml:4:1: the line has more than 200 of",
		strings.Repeat("&a ", 1<<20): "x.yaml:4:1: the line has more than 200 of",
		"a: " + strings.Repeat("[", 150) + "1" + strings.Repeat("]", 150) + "\n  # ": "x.yaml:1:1: the file has more than 500000 values, with those of aliases, or is nested more than 100 deep",
	} {
		if _, err := Load("x.yaml", []byte(head+text+"a\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if line := crowded([]byte(`{` + strings.Repeat(`"a": -1, "b": [1, 2], `, 1000) + `}`)); line != 0 {
		t.Errorf("JSON in one line is refused: line %d", line)
	}
}
