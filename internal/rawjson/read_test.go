package rawjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, ``}, {` { } `, ``}, {`[]`, ``}, {`1`, ``}, {``, ``}, {`"{"`, ``},
		{`{"a":1}`, `a=1;`},
		{` { "a" : 1.5e3 , "b" : "x\"}]y" , "" : [ "]" , {} ] } `, `a=1.5e3;b="x\"}]y";=[ "]" , {} ];`},
		{`{"\u0061\n":null,"b\\":true,"c":false}`, "a\n=null;b\\=true;c=false;"},
		{`{"a":{"b":{"c":"}}}"}},"d":"\\"}`, `a={"b":{"c":"}}}"}};d="\\";`},
		{`{"a":"0123456789012345678901234567890123456789\\\"","b":2}`, `a="0123456789012345678901234567890123456789\\\"";b=2;`},
	} {
		var got strings.Builder
		for m := Object([]byte(c.in)); m.Next(); {
			fmt.Fprintf(&got, "%s=%s;", m.Name, m.Value)
			span := c.in[m.Start:m.End]
			if span[0] != '"' || !strings.HasSuffix(span, string(m.Value)) {
				t.Errorf("%s: the span of a member is %s", c.in, span)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got.String(), c.want)
		}
	}
}

// Where a member ends must not depend on how eight bytes fall into words.
func TestSkipAtEveryAlignment(t *testing.T) {
	for _, inner := range []string{``, `\\`, `\"`, `\\\"`, `]`, `}{[`, `#`, `#","#`, `é`, "\xa2\xdc\xdb"} {
		for pad := range 300 {
			plain := strings.Repeat("_", pad)
			value := `[{"k":["` + plain + inner + `"],"l":[[]]},"` + plain + inner + `",{},["` + inner + plain + `"]]`
			raw := []byte(`{"a":` + value + `,"b":1}`)
			if got := Lookup(raw, "a"); string(got) != value {
				t.Fatalf("%s: got %s", raw, got)
			}
			if got := Lookup(raw, "b"); string(got) != "1" {
				t.Fatalf("%s: b is %s", raw, got)
			}
		}
	}
}

func TestArray(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[]`, ``}, {` [ ] `, ``}, {`{}`, ``}, {``, ``}, {`1`, ``},
		{` [ 1 ,"a]", [ [2] ] ,{"]":[]} , null ] `, `1;"a]";[ [2] ];{"]":[]};null;`},
	} {
		var got strings.Builder
		for e := Array([]byte(c.in)); e.Next(); {
			fmt.Fprintf(&got, "%s;", e.Value)
		}
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got.String(), c.want)
		}
	}
}

func TestLookup(t *testing.T) {
	obj := []byte(`{"name":"echo","Name":"admin","name\u0000":"root","\u00e9t\u00e9":1,"a\/b":[2],"":3}`)
	for _, c := range []struct{ name, want string }{
		{"name", `"echo"`}, {"Name", `"admin"`}, {"name\x00", `"root"`}, {"NAME", ""}, {"été", "1"}, {"a/b", "[2]"}, {`a\/b`, ""}, {"", "3"}, {"nam", ""},
	} {
		if got := Lookup(obj, c.name); string(got) != c.want {
			t.Errorf("%q: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := Lookup([]byte(`["name"]`), "name"); got != nil {
		t.Errorf("an array has the member %s", got)
	}
	if n := testing.AllocsPerRun(100, func() { Lookup(obj, "") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// LookupIn finds what Lookup finds in what Lookup finds.
func TestLookupIn(t *testing.T) {
	for _, obj := range []string{
		`{"_meta":{"v":"1"}}`, `{"a":{"v":2},"_meta":{"x":{"v":3},"v":"1"},"v":4}`, ` { "_meta" : { "v" : "1" } } `, `{"\u005fmeta":{"\u0076":"1"}}`,
		`{"_meta":{},"v":5}`, `{"_meta":{"x":{"v":3}},"v":5}`, `{"_meta":[{"v":6}],"v":5}`, `{"_meta":"v","v":5}`, `{"_meta":7,"v":5}`, `{"_meta":null,"v":5}`,
		`{"v":5}`, `{}`, `[]`, ``, `null`, `{"x":["_meta",{"_meta":{"v":8}}],"_meta":{"v":[9]}}`, `{"_meta":{"v`, `{"_meta":`, `{"_meta"`,
	} {
		want := Lookup(Lookup([]byte(obj), "_meta"), "v")
		if got := LookupIn([]byte(obj), "_meta", "v"); string(got) != string(want) {
			t.Errorf("%s: got %s, want %s", obj, got, want)
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		in, want string
		ok       bool
	}{
		{`""`, "", true}, {`"abc"`, "abc", true}, {` "a" `, "a", true}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0000\u00e9\u20AC\ud83d\ude00"`, "\x00é€😀", true}, {`"é\n日"`, "é\n日", true},
		{`1`, "", false}, {`null`, "", false}, {``, "", false}, {`{"a":1}`, "", false}, {`["a"]`, "", false},
		{`"`, "", false}, {`"abc`, "", false}, // never checked
	} {
		got, ok := String([]byte(c.in))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %q %v, want %q %v", c.in, got, ok, c.want, c.ok)
		}
		if EqualString([]byte(c.in), c.want) != c.ok {
			t.Errorf("EqualString(%s, %q) is not %v", c.in, c.want, c.ok)
		}
		if EqualString([]byte(c.in), c.want+"x") || c.want != "" && EqualString([]byte(c.in), c.want[1:]) {
			t.Errorf("%s equals something else", c.in)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", `""`}, {"plain text", `"plain text"`}, {"\"\\/", `"\"\\/"`}, {"\n\r\t\b\f\x00\x1f\x7f", `"\n\r\t\u0008\u000c\u0000\u001f` + "\x7f\""},
		{"é😀\u2028", "\"é😀\u2028\""}, {"a\xffb\xc3", "\"a\ufffdb\ufffd\""}, {"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""}, {"\ufffd", "\"\ufffd\""},
	} {
		got := AppendString([]byte("x"), c.in)
		if string(got) != "x"+c.want {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
		if err := Check(got[1:]); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
		if s, _ := String(got[1:]); s != strings.ToValidUTF8(c.in, "\ufffd") && c.in != "\xed\xa0\x80" {
			t.Errorf("%q: comes back as %q", c.in, s)
		}
	}
}

func TestAppendStringAllocatesNothing(t *testing.T) {
	long, buf := strings.Repeat("0123456789 é \"\n", 100), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { AppendString(buf, long) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKinds(t *testing.T) {
	for _, in := range []string{`{}`, `[]`, `""`, `null`, `1`, `true`, ``, ` `} {
		got := fmt.Sprint(IsObject([]byte("\n"+in)), IsArray([]byte(in)), IsString([]byte(" "+in)), IsNull([]byte(in)))
		want := fmt.Sprint(in == `{}`, in == `[]`, in == `""`, in == `null`)
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestAppendCompact(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{ "a" : 1 }`, `{ "a" : 1 }`}, // on one line already: left as it is
		{"{ \"a\" : 1 }\n", `{"a":1}`},
		{"\r\n[1,\r\n\t2, \"a \\n b\" , {\"c d\" : null}]\r", `[1,2,"a \n b",{"c d":null}]`},
		{"\n12\n", `12`}, {"", ""}, {"\n", ""},
		{"\"a\nb\r\"", `"a\nb\r"`}, {"\"a\n", `"a\n`}, // never checked, still one line
	} {
		if got := AppendCompact([]byte("x"), []byte(c.in)); string(got) != "x"+c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// The readers may be given anything: they end, and stay inside their bytes.
func TestReadersSurviveUncheckedBytes(t *testing.T) {
	for _, c := range bad {
		readAll([]byte(c.in))
		readAll([]byte("{" + c.in))
		readAll([]byte("[" + c.in))
		readAll([]byte(`{"a":` + c.in))
	}
}

func readAll(raw []byte) {
	for m := Object(raw); m.Next(); {
		_ = raw[m.Start:m.End]
		String(m.Value)
	}
	for e := Array(raw); e.Next(); {
		String(e.Value)
	}
	Lookup(raw, "a")
	EqualString(raw, "a")
	if out := AppendCompact(nil, raw); bytes.ContainsAny(out, "\r\n") {
		panic("a line break is left")
	}
}
