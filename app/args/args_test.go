package args

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const schema = `{"type":"object","$defs":{"P":{"type":"object","properties":{"x":{"type":"number"},"next":{"$ref":"#/$defs/P"}}}},
"properties":{"n":{"type":"number"},"i":{"type":"integer"},"s":{"type":"string"},"b":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}},
"nums":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"a":{"type":"string"}}},"p":{"$ref":"#/$defs/P"},
"dotted.name":{"type":"string"},"maybe":{"anyOf":[{"type":"null"},{"type":"integer"}]},"e":{"enum":["on","off"]},"any":{}}}`

func TestParse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"n=20", `{"n":20}`},
		{"n=1e400", `{"n":1e400}`},
		{"n=twenty", `{"n":"twenty"}`}, // the server says what is wrong with it
		{"n=0x10", `{"n":"0x10"}`},
		{"n=NaN", `{"n":"NaN"}`},
		{"i=12345678901234567890123", `{"i":12345678901234567890123}`},
		{"s=20", `{"s":"20"}`},
		{"s=true", `{"s":"true"}`},
		{`s="quoted"`, `{"s":"\"quoted\""}`},
		{"s=a=b", `{"s":"a=b"}`},
		{"s=", `{"s":""}`},
		{"b=true", `{"b":true}`},
		{"list=x", `{"list":["x"]}`},
		{"list=x|list=y", `{"list":["x","y"]}`},
		{`list=["x","y"]`, `{"list":["x","y"]}`},
		{"nums=1|nums=2", `{"nums":[1,2]}`},
		{"o.a=1", `{"o":{"a":"1"}}`},
		{`o={"a":"1"}`, `{"o":{"a":"1"}}`},
		{"p.x=1|p.next.x=2", `{"p":{"next":{"x":2},"x":1}}`},
		{"dotted.name=1", `{"dotted.name":"1"}`},
		{"maybe=null", `{"maybe":null}`},
		{"maybe=3", `{"maybe":3}`},
		{"e=on", `{"e":"on"}`},
		{"any=3", `{"any":3}`},
		{"any=word", `{"any":"word"}`},
		{"unknown=3", `{"unknown":3}`},
		{`s:=[1]`, `{"s":[1]}`},
		{"s=@" + file, `{"s":"from a file"}`},
		{"s=@@x", `{"s":"@x"}`},
		{"", `{}`},
	} {
		var words []string
		if c.words != "" {
			words = strings.Split(c.words, "|")
		}
		got, err := Parse(json.RawMessage(schema), words)
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		if string(sorted(t, got)) != string(sorted(t, json.RawMessage(c.want))) {
			t.Errorf("%s came to %s, not %s", c.words, got, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for words, want := range map[string]string{
		"word":          "name=value",
		"=3":            "name=value",
		"n:=twenty":     "not valid JSON",
		"n=1|n=2":       "given twice",
		"s=@/no/such":   "no such file",
		"o=x|o.a=1":     "as an object and as a value",
		"p.x=1|p.x.y=2": "as an object and as a value",
		"list.0.k=v":    "list is a list", // C17
	} {
		if _, err := Parse(json.RawMessage(schema), strings.Split(words, "|")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", words, err, want)
		}
	}
}

func TestParseWithoutSchema(t *testing.T) {
	got, err := Parse(nil, []string{"a=1", "b=text", "c=true", `d={"x":1}`, "e=1", "e=2"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":1,"b":"text","c":true,"d":{"x":1},"e":[1,2]}`; string(sorted(t, got)) != want {
		t.Errorf("came to %s, not %s", got, want)
	}
}

// sorted writes an object with its members in order, numbers as they stand.
func sorted(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
