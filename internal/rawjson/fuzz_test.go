package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// seedAll starts from the tables of the tests. Long rows are left out: shrinking
// what grows from them takes the fuzzer longer than finding it.
func seedAll(f *testing.F) {
	add := func(in string) {
		if len(in) <= 700 {
			f.Add([]byte(in))
		}
	}
	for _, in := range good {
		add(in)
	}
	for _, c := range bad {
		add(c.in)
	}
}

// Two decoders agree on what is strict JSON. The differences:
//   - Depth: ours ends at MaxDepth, the other one's at 10,000.
//   - Length: ours refuses more than 2 GiB, which no fuzzer tries.
func FuzzCheckAgrees(f *testing.F) {
	seedAll(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data)
		if syntax, ok := errors.AsType[*SyntaxError](err); ok && strings.HasPrefix(syntax.Reason, "nested deeper") {
			return
		}
		if valid := jsontext.Value(data).IsValid(); valid != (err == nil) {
			t.Fatalf("%q: the other decoder says %v, ours %v", data, valid, err)
		}
	})
}

// What Object and Array find is what a decoder reads.
func FuzzMembers(f *testing.F) {
	seedAll(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		readAll(data)
		if Check(data) != nil {
			return
		}
		compare(t, data)
	})
}

func compare(t *testing.T, data []byte) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	token := func() jsontext.Token {
		tok, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	value := func() []byte {
		v, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch dec.PeekKind() {
	case '{':
		token()
		for m := Object(data); m.Next(); {
			name := token().String()
			if string(m.Name) != name {
				t.Fatalf("%q: name %q, want %q", data, m.Name, name)
			}
			if v := value(); !bytes.Equal(m.Value, v) {
				t.Fatalf("%q: value %q, want %q", data, m.Value, v)
			}
			if !bytes.Equal(Lookup(data, name), m.Value) {
				t.Fatalf("%q: Lookup does not find %q", data, name)
			}
			compare(t, m.Value)
		}
		token()
	case '[':
		token()
		for e := Array(data); e.Next(); {
			if v := value(); !bytes.Equal(e.Value, v) {
				t.Fatalf("%q: element %q, want %q", data, e.Value, v)
			}
			compare(t, e.Value)
		}
		token()
	case '"':
		want := token().String()
		got, ok := String(data)
		if !ok || got != want || !EqualString(data, want) {
			t.Fatalf("%q: string %q, want %q", data, got, want)
		}
		if back, _ := String(AppendString(nil, got)); back != got {
			t.Fatalf("%q: comes back as %q", got, back)
		}
	default:
		value()
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		t.Fatalf("%q: the other decoder has more: %v", data, err)
	}
}

// Compacting keeps the value, makes one line, and if it removes anything
// leaves nothing to remove.
func FuzzCompact(f *testing.F) {
	seedAll(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got := AppendCompact(nil, data)
		if bytes.ContainsAny(got, "\r\n") {
			t.Fatalf("%q: got %q", data, got)
		}
		if Check(data) != nil {
			return
		}
		want := data
		if bytes.ContainsAny(data, "\r\n") {
			var b bytes.Buffer
			if err := json.Compact(&b, data); err != nil {
				t.Fatal(err)
			}
			want = b.Bytes()
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", data, got, want)
		}
	})
}
