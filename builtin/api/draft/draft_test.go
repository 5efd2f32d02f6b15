package draft

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api"
)

func pets(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/pets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func drafted(t *testing.T, description []byte, o Options) *Result {
	t.Helper()
	r, err := Draft(description, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Check(api.Config{Data: r.File, Name: "draft.yaml"}); err != nil {
		t.Errorf("%v\n%s", err, r.File)
	}
	return r
}

// Each part of a description that generators are known to fail at.
func TestDraftHandlesWhatGeneratorsFailAt(t *testing.T) {
	file := string(drafted(t, pets(t), Options{}).File)
	for what, want := range map[string]string{
		"a variable in the server's URL":    `base: "https://eu.pets.example/v1"`,
		"an API key":                        `{kind: header, name: X-Api-Key, value: "${env:PET_STORE_KEY}"}`,
		"OAuth":                             `grant: code, token_url: "https://login.example/t"`,
		"a recursive reference":             `tree: {type: object, properties: {children: {type: array, items: {type: object, description: "Nested as before: Node"}}`,
		"nullable":                          `old: {type: [string, "null"], enum: [a, b, null]}`,
		"types of 3.1":                      `tag: {type: [string, "null"]}`,
		"exclusiveMinimum: true of 3.0":     `age: {type: number, exclusiveMinimum: 0}`,
		"a discriminator":                   `kind: {type: string, enum: [house]}`,
		"allOf in a response":               `{id, name, age, old, tag`,
		"an idempotency key":                `idempotency: {header: Idempotency-Key}`,
		"a cursor":                          `paginate: {kind: cursor, cursor: ".next_cursor", param: cursor, items: ".data", size: {param: limit, max: 200}}`,
		"an array in the query":             `path: "/pets{?tags*}"`,
		"a name that is no variable":        `"filter[age]": "{{ .filter_age }}"`,
		"a path parameter with a dash":      `request: "GET /pets/{pet_id}"`,
		"an upload":                         `file: {path: "{{ .file }}"}`,
		"a download":                        `as: file`,
		"a long name":                       `upload_pet_photo_with_a_very_long_operation_identifier_1ec13f:`,
		"an operation without an id":        `get_pets_by_pet_id:`,
		"what is left out, with the reason": "# deprecated, tag pets (1):\n#   DELETE /pets/{pet-id}\n",
	} {
		if !strings.Contains(file, want) {
			t.Errorf("%s: there is no %s", what, want)
		}
	}
	if strings.Contains(file, "id: {type: integer") {
		t.Error("a readOnly member is a parameter")
	}
	if t.Failed() {
		t.Log(file)
	}
}

// many is a description with n operations whose ids are equal in their first 70
// characters.
func many(n int) []byte {
	var b strings.Builder
	b.WriteString("openapi: 3.0.3\ninfo: {title: Many, version: '1'}\nservers: [{url: https://many.example}]\npaths:\n")
	for i := range n {
		fmt.Fprintf(&b, "  /things%d:\n    get: {operationId: %s%d, tags: [t%d], responses: {'200': {description: ok}}}\n", i, strings.Repeat("veryLong", 10), i, i%3)
	}
	return []byte(b.String())
}

func TestNamesAreShortAndUnique(t *testing.T) {
	d, err := read(many(500))
	if err != nil {
		t.Fatal(err)
	}
	valid, seen := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), map[string]bool{}
	for _, op := range d.operations() {
		if !valid.MatchString(op.name) || seen[op.name] {
			t.Errorf("%s is invalid or there twice", op.name)
		}
		seen[op.name] = true
	}
	if len(seen) != 500 {
		t.Errorf("%d names", len(seen))
	}
}

func TestEveryOperationIsAToolOrLeftOut(t *testing.T) {
	for _, o := range []Options{{}, {Max: 3}, {Tags: []string{"t1"}}, {ReadOnly: true}, {Operations: []string{"GET /things1*"}, Max: 12}} {
		r, err := Draft(many(100), o)
		if err != nil {
			t.Fatal(o, err)
		}
		if len(r.Tools)+len(r.LeftOut) != 100 || len(r.Tools) > MaxTools || o.Max > 0 && len(r.Tools) > o.Max {
			t.Errorf("%+v: %d tools, %d left out", o, len(r.Tools), len(r.LeftOut))
		}
		for _, l := range r.LeftOut {
			if l.Reason == "" || !strings.Contains(string(r.File), l.Operation) {
				t.Errorf("%+v is not listed with a reason", l)
			}
		}
	}
}

// A description cannot make the draft refer to secrets of its reader.
func TestDescriptionsDoNotReferToSecrets(t *testing.T) {
	const reference = "${env:AWS_SECRET_ACCESS_KEY}"
	for _, flow := range []string{
		"authorizationUrl: 'https://login.example/" + reference + "', tokenUrl: https://login.example/t",
		"authorizationUrl: 'https://login.example/a?x=" + reference + "', tokenUrl: https://login.example/t",
		"authorizationUrl: https://login.example/a, tokenUrl: 'https://login.example/t?x=" + reference + "'",
	} {
		file := string(drafted(t, bytes.Replace(pets(t), []byte("authorizationUrl: https://login.example/a, tokenUrl: https://login.example/t"), []byte(flow), 1), Options{}).File)
		if strings.Contains(file, "AWS_") || strings.Contains(file, "kind: oauth2") {
			t.Errorf("%s:\n%s", flow, file)
		}
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		description string
		options     Options
		want        string
	}{
		"Swagger":      {`{"swagger": "2.0"}`, Options{}, "convert it to OpenAPI 3 first"},
		"another file": {`{"a": 1}`, Options{}, "the member openapi is missing"},
		"too new":      {`openapi: 4.0.0`, Options{}, "use 3.0 or 3.1"},
		"no object":    {`[]`, Options{}, "not an object"},
		"nothing":      {`{"openapi":"3.1.0"}`, Options{}, "no operations"},
		"no server":    {"openapi: 3.1.0\npaths: {/a: {get: {responses: {}}}}", Options{}, "give one with --base"},
		"unknown tag":  {string(many(2)), Options{Tags: []string{"x"}}, "there are t0, t1"},
		"unknown id":   {string(many(2)), Options{Operations: []string{"nothing"}}, `no operation is named "nothing"`},
		"too many":     {string(many(30)), Options{Operations: []string{"GET *"}}, "name fewer"},
		"too large":    {string(many(2)), Options{Max: 26}, "at most 25"},
	} {
		if _, err := Draft([]byte(c.description), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A description is foreign text: no part of it panics the reader.
func FuzzDraft(f *testing.F) {
	data, err := os.ReadFile("testdata/pets.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"openapi":"3.1.0","servers":[{"url":"http://localhost"}],"paths":{"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path"},{"$ref":"#/paths"}]},"post":{"requestBody":{"$ref":"#/x"}}}},"x":{"$ref":"#/x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		Draft(data, Options{})
	})
}
