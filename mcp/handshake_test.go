package mcp

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

// Values of a handshake are decoded and encoded as the JSON library does it.
func FuzzHandshake(f *testing.F) {
	for _, seed := range handshakes {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsLibrary(t, data) })
}

var handshakes = []string{
	`{}`, ` { "tools" : { "listChanged" : true } } `, `{"tools":{"listChanged":null}}`, `{"tools":null}`, `{"tools":1}`, `{"tools":{"listChanged":1}}`,
	`{"tools":{},"prompts":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true,"x":1},"logging":{},"completions":{"a": [1, 2]}}`,
	`{"to\u006fls":{},"TOOLS":{},"tasks":{"list":{}},"extensions":{"a/b":{"x": 1},"c":null},"experimental":{}}`,
	`{"elicitation":{"form":{},"url":{"a":1}},"sampling":{"tools":{}},"roots":{"listChanged":true},"x":"\ud83d\ude00"}`,
	`{"elicitation":{"form":[]}}`, `{"sampling":{"context":null}}`, `{"roots":{"listChanged":"true"}}`,
	`{"name":"x","version":"1\n","title":"<b>&\u2028","description":"ü","websiteUrl":"https://a.example"}`, `{"name":1}`, `{"name":"x","icons":[]}`, `{"name":"x","name":"y"}`,
	`{"uri":"a:b","name":"x","mimeType":"text/plain","size":3,"_meta":{}}`, `{"uriTemplate":"a:{b}","name":"x","description":"d"}`, `{"uri":"","name":"\u007f"}`,
	`{"name":"x","arguments":[{"name":"a","required":true},{"name":"b","title":"B"}]}`, `{"name":"x","arguments":[]}`,
	`{"capabilities":{"tools":{}},"instructions":"Say <hello> & \u0007\u2028"}`, `{"capabilities":[]}`, `{"instructions":3}`, `{"capabilities":{}} x`, `[]`, ``, `null`, "{\"name\":\"\xff\"}",
	"{}\f", "\v{}", "{}\u0085", // found by FuzzHandshake: white space, but not of JSON
}

func sameAsLibrary(t *testing.T, data []byte) {
	t.Helper()
	for _, kind := range []any{Discovery{}, ServerCapabilities{}, ClientCapabilities{}, Implementation{}, Resource{}, ResourceTemplate{}, Prompt{}} {
		got, want := reflect.New(reflect.TypeOf(kind)), reflect.New(reflect.TypeOf(kind))
		errGot, errWant := Unmarshal(data, got.Interface()), jsonv2.Unmarshal(data, want.Interface(), decoding)
		if (errGot == nil) != (errWant == nil) {
			t.Fatalf("%T from %s: error %v, the library: %v", kind, data, errGot, errWant)
		}
		if errWant != nil {
			continue
		}
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Fatalf("%T from %s: %+v, the library: %+v", kind, data, got, want)
		}
		text, err := Marshal(got.Interface())
		library, errLibrary := jsonv2.Marshal(got.Interface(), encoding)
		if string(text) != string(library) || (err == nil) != (errLibrary == nil) {
			t.Fatalf("%T: encoded as %s, %v, by the library as %s, %v", kind, text, err, library, errLibrary)
		}
	}
}

// The usual handshakes do not need the library, also with odd texts in between.
func TestHandshakeIsPlain(t *testing.T) {
	for _, v := range []any{
		&Discovery{Capabilities: ServerCapabilities{Tools: &ListCapability{ListChanged: true}, Resources: &ResourcesCapability{}, Extensions: map[string]json.RawMessage{"a/b": json.RawMessage("{}")}}, Instructions: "Hi."},
		&Implementation{Name: "a", Version: "1"},
		&Resource{URI: "a:b", Name: "b"}, &ResourceTemplate{URITemplate: "a:{b}", Name: "b"},
		&Prompt{Name: "x", Arguments: []PromptArgument{{Name: "a", Required: true}}},
	} {
		if raw, ok := appendPlain(v); !ok || len(raw) < 10 {
			t.Errorf("%+v is encoded by the library", v)
		}
	}
	for _, v := range []any{new(ServerCapabilities), new(ClientCapabilities)} {
		if !decodePlain([]byte(`{"tools":{"listChanged":true},"elicitation":{"form":{}},"roots":{}}`), v) {
			t.Errorf("%T is decoded by the library", v)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 { // pieces of the seeds, put together at random
		a, b := handshakes[r.IntN(len(handshakes))], handshakes[r.IntN(len(handshakes))]
		sameAsLibrary(t, []byte(a[:r.IntN(len(a)+1)]+b[r.IntN(len(b)+1):]))
	}
}
