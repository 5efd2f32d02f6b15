package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
)

// nested returns n arrays inside each other.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// numbered returns an object with n members named by format.
func numbered(n int, format string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"`+format+`":0`, i)
	}
	b.WriteByte('}')
	return b.String()
}

// good and bad are the tables that the tests and the fuzz targets share.
var good = []string{
	`null`, `true`, `false`, `0`, `-0`, `-1`, `10`, `1.5`, `0.25`, `1e5`, `1E+5`, `1e-05`, `-0.0e0`, `1e309`, `123456789012345678901234567890`,
	`""`, `"a"`, `"héllo"`, `"日本語のテキスト"`, `"😀"`, "\"\u2028\u2029\"", "\"\x7f\"", "\"\ufffd\"", "\"\ufeff\"",
	`"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\u00e9\u00E9"`, `"\ud83d\ude00"`, `"\uD83D\uDE00x"`, `"\ufffd"`, `"\uFFFF"`, `"\ud7ff\ue000"`,
	"\"\x20\x21\x23\x5b\x5d\"", "\"\xc2\x80\"", "\"\xdf\xbf\"", "\"\xe0\xa0\x80\"", "\"\xed\x9f\xbf\"", "\"\xee\x80\x80\"", "\"\xf0\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"",
	`"12345678"`, `"1234567"`, `"123456789"`, `"1234567\n9"`, `"1234567é9"`,
	`[]`, `[ ]`, `[1]`, `[1,2]`, " [ 1 , 2 ] ", "\t\r\n [\n]\n", `[[],[[]],{}]`, `[null,true,false]`,
	`{}`, `{ }`, `{"a":1}`, ` { "a" : 1 , "b" : [ ] } `, `{"":0}`, `{"a":{"a":{"a":0}}}`, `[{"a":0},{"a":0}]`, `{"a":[{"a":1},{"a":2}],"b":{"a":3}}`,
	`{"name":"echo","Name":"admin"}`, `{"name":"echo","name\u0000":"admin"}`, `{"a":0,"\u0041":0}`, `{"\u0061":0,"b":{"\u0061":1}}`,
	"{\"a\":0,\"A\":0,\"aa\":0,\"\u00e1\":0,\"a\u0301\":0}", `{"__proto__":1,"constructor":2}`,
	`{"\"":1,"\\":2,"\\\"":3}`,
	nested(MaxDepth), strings.Repeat(`{"a":`, MaxDepth) + `1` + strings.Repeat(`}`, MaxDepth),
	numbered(16, "k%d"), numbered(17, "k%d"), numbered(48, "k%d"), numbered(49, "k%d"), numbered(1000, "%08x"), numbered(40, `\u0061%d`),
	`[` + numbered(20, "a%d") + `,` + numbered(20, "a%d") + `]`,
	`{"a0":` + numbered(20, "a%d") + `,"a1":` + numbered(100, "a%d") + `}`,
	`{"` + strings.Repeat("n", 300) + `":"` + strings.Repeat("v", 300) + `"}`,
}

var bad = []struct {
	in     string
	offset int
	reason string // a part of it
}{
	{``, 0, "expected a value"},
	{" \n", 2, "expected a value"},
	{`x`, 0, `'x' cannot begin a value`},
	{`é`, 0, `'é' cannot begin a value`},
	{"\xff", 0, "0xff cannot begin"},
	{"\ufeff{}", 0, "cannot begin a value"}, // a byte order mark is no white space
	{"\v1", 0, "cannot begin a value"},
	{"\x00", 0, "cannot begin a value"},
	{`this is not json`, 0, `expected "true"`},
	{`nul`, 0, `expected "null"`}, {`True`, 0, "cannot begin"}, {`falsy`, 0, `expected "false"`}, {`nulll`, 4, "after the end"},
	{`NaN`, 0, "cannot begin"}, {`{"ms":NaN}`, 6, "cannot begin"}, {`{"ms":Infinity}`, 6, "cannot begin"}, {`-Infinity`, 1, "missing digit after the minus"},
	{`+1`, 0, "cannot begin"}, {`01`, 0, "leading zero"}, {`-01`, 1, "leading zero"}, {`00`, 0, "leading zero"}, {`-`, 1, "after the minus"},
	{`1.`, 2, "decimal point"}, {`.5`, 0, "cannot begin"}, {`1.e5`, 2, "decimal point"}, {`1e`, 2, "exponent"}, {`1e+`, 3, "exponent"}, {`1E-x`, 3, "exponent"},
	{`0x10`, 1, "after the end"}, {`1_000`, 1, "after the end"}, {`1.5.5`, 3, "after the end"}, {`[1 2]`, 3, "comma or the end of the array"},
	{`"`, 1, "inside a string"}, {`"abc`, 4, "inside a string"}, {`"abcdefgh`, 9, "inside a string"}, {`"\`, 1, "inside a string"}, {`"\"`, 3, "inside a string"}, {`'a'`, 0, "cannot begin"},
	{`"\x41"`, 1, "invalid escape"}, {`"\'"`, 1, "invalid escape"}, {`"\U0041"`, 1, "invalid escape"}, {`"\a"`, 1, "invalid escape"}, {"\"\\\n\"", 1, "invalid escape"}, {"\"\\\xff\"", 1, "invalid escape"},
	{`"\u12"`, 1, "four hexadecimal"}, {`"\u12G4"`, 1, "four hexadecimal"}, {`"\u+123"`, 1, "four hexadecimal"}, {`"\u`, 1, "four hexadecimal"},
	{`"\ud800"`, 1, `\ud800 is an unpaired`}, {`"\ude00"`, 1, "unpaired surrogate"}, {`"\ud800\ud800"`, 1, "unpaired surrogate"}, {`"\ud83dx"`, 1, "unpaired surrogate"}, {`"\ud83d\n"`, 1, "unpaired surrogate"}, {`"\ud83d\u0041"`, 1, "unpaired surrogate"}, {`"\ud83d\u"`, 1, "unpaired surrogate"}, {`"\ude00\ud83d"`, 1, "unpaired surrogate"}, {`"\ud83d`, 1, "unpaired surrogate"},
	{"\"a\x00b\"", 2, "unescaped control character 0x00"}, {"\"\n\"", 1, "unescaped control character 0x0a"}, {"\"\t\"", 1, "unescaped control character 0x09"}, {"\"\x1f\"", 1, "unescaped control character 0x1f"}, {"\"12345678\x01\"", 9, "unescaped control character 0x01"},
	{"\"\xff\xfe\"", 1, "0xff is not valid UTF-8"},
	{"\"\x80\"", 1, "UTF-8"}, {"\"\xc0\x80\"", 1, "UTF-8"}, {"\"\xc1\xbf\"", 1, "UTF-8"}, {"\"\xe0\x80\xaf\"", 1, "UTF-8"}, {"\"\xf0\x80\x80\xaf\"", 1, "UTF-8"}, // overlong
	{"\"\xed\xa0\x80\"", 1, "UTF-8"}, {"\"\xed\xbf\xbf\"", 1, "UTF-8"}, {"\"\xed\xa0\xbd\xed\xb8\x80\"", 1, "UTF-8"}, // surrogates
	{"\"\xf4\x90\x80\x80\"", 1, "UTF-8"}, {"\"\xf5\x80\x80\x80\"", 1, "UTF-8"}, {"\"é\xc3\"", 3, "UTF-8"}, {"\"\xe2\x82", 3, "inside a string"}, {"\"\xe2\x82\"", 1, "UTF-8"}, {"\"a\\n\xc3\\n\"", 4, "UTF-8"}, {"{\"\xff\":1}", 2, "UTF-8"},
	{`[`, 1, "expected a value"}, {`[1`, 2, "inside an array"}, {`[1,`, 3, "expected a value"}, {`[1,]`, 3, "']' cannot begin"}, {`[,1]`, 1, "cannot begin"}, {`]`, 0, "cannot begin"}, {`[}`, 1, "cannot begin"}, {`[1}`, 2, "end of the array"},
	{`{`, 1, "the end instead of a name"}, {`{"a"`, 4, "colon"}, {`{"a"}`, 4, "colon"}, {`{"a":`, 5, "expected a value"}, {`{"a":}`, 5, "cannot begin"}, {`{"a":1`, 6, "inside an object"}, {`{"a":1,}`, 7, "instead of a name"}, {`{,}`, 1, "instead of a name"}, {`{a:1}`, 1, "instead of a name"}, {`{1:1}`, 1, "instead of a name"}, {`{"a" 1}`, 5, "colon"}, {`{"a":1]`, 6, "end of the object"}, {`{"a":1 "b":2}`, 7, "comma"}, {`{]`, 1, "instead of a name"}, {`{"a`, 3, "inside a string"}, {`{"\u12":1}`, 2, "hexadecimal"},
	{`{} {}`, 3, "after the end"}, {`{}{}`, 2, "after the end"}, {`1,`, 1, "after the end"}, {"{}\x00", 2, "after the end"}, {`{}//`, 2, "after the end"}, {`/**/{}`, 0, "cannot begin"},
	{`{"a":1,"a":2}`, 7, `duplicate name "a"`}, {`{"a":1,"\u0061":2}`, 7, `duplicate name "a"`}, {`{"\u0061":1,"a":2}`, 12, `duplicate name "a"`}, {`{"":1,"":2}`, 6, `duplicate name ""`},
	{`[{"x":[{"a":{"b":1,"c":2,"b":3}}]}]`, 25, `duplicate name "b"`}, {`{"a":{"a":1},"a":2}`, 13, "duplicate name"}, {`{"\n":1,"\u000A":2}`, 8, `duplicate name "\n"`}, {`{"😀":1,"\ud83d\ude00":2}`, 10, "duplicate name"}, {`{"\/":1,"/":2}`, 8, "duplicate name"},
	{strings.Replace(numbered(17, "k%d"), `"k16"`, `"k0"`, 1), 119, `duplicate name "k0"`},
	{strings.Replace(numbered(16, "k%d"), `"k15"`, `"k14"`, 1), 111, `duplicate name "k14"`},
	{strings.Replace(numbered(60, "k%d"), `"k59"`, `"k\u0030"`, 1), 463, `duplicate name "k0"`},
	{`{"a":` + numbered(30, "a%d") + `,"a":1}`, 237, `duplicate name "a"`},
	{`{"` + strings.Repeat("x", 100) + `":1,"` + strings.Repeat("x", 100) + `":1}`, 106, `"` + strings.Repeat("x", 64) + `"… in one object`},
	{nested(MaxDepth + 1), MaxDepth, "nested deeper than 512 levels"},
	{strings.Repeat(`{"a":`, MaxDepth+1) + `1` + strings.Repeat(`}`, MaxDepth+1), 5 * MaxDepth, "nested deeper"},
	{strings.Repeat("[", 20000), MaxDepth, "nested deeper"},
}

func TestCheckAccepts(t *testing.T) {
	for _, in := range good {
		if err := Check([]byte(in)); err != nil {
			t.Errorf("%.60q: %v", in, err)
		}
		padded := " \n" + in + " ,"
		if end, err := Scan([]byte(padded), 1); err != nil || strings.TrimSpace(padded[:end]) != strings.TrimSpace(in) {
			t.Errorf("Scan %.60q: end %d, %v", in, end, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range bad {
		err := Check([]byte(c.in))
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%.60q: got %v, want a SyntaxError", c.in, err)
			continue
		}
		if syntax.Offset != c.offset || !strings.Contains(syntax.Reason, c.reason) {
			t.Errorf("%.60q: got %q, want byte %d and %q", c.in, err, c.offset, c.reason)
		}
	}
}

// The position of a fault must not depend on how eight bytes fall into words.
func TestCheckAtEveryAlignment(t *testing.T) {
	for pad := range 20 {
		plain := strings.Repeat("p", pad)
		for _, tail := range []string{"\x01", "\xff", "\xed\xa0\x80", `\x`, `\ud800`, "\n"} {
			in := `"` + plain + tail + plain + `"`
			err := Check([]byte(in))
			if syntax, ok := errors.AsType[*SyntaxError](err); !ok || syntax.Offset != 1+pad {
				t.Errorf("%q: got %v, want a fault at byte %d", in, err, 1+pad)
			}
		}
		for _, tail := range []string{`\"`, "é", "😀", `\ud83d\ude00`, "\x7f", "", "[", "]", "~"} {
			in := `"` + plain + tail + plain + `"`
			if err := Check([]byte(in)); err != nil {
				t.Errorf("%q: %v", in, err)
			}
			if end := skipString([]byte(in+`"`), 1); end != len(in) {
				t.Errorf("%q: skipped %d bytes of %d", in, end, len(in))
			}
		}
	}
}

func TestCheckMembersShowsTheOutermost(t *testing.T) {
	var got strings.Builder
	err := CheckMembers([]byte(` { "a" : 1 , "\u0062":{"x":[1,2]}, "c":[{"y":0}] , "d":"", "e":{} } `), func(name, value []byte) {
		fmt.Fprintf(&got, "%s=%s;", name, value)
	})
	if want := `a=1;b={"x":[1,2]};c=[{"y":0}];d="";e={};`; err != nil || got.String() != want {
		t.Errorf("got %s %v, want %s", got.String(), err, want)
	}
	for _, in := range []string{`[{"a":1}]`, `[[{"a":1}],2]`, `1`, `{}`, `"a"`} {
		if err := CheckMembers([]byte(in), func(name, value []byte) { t.Errorf("%s: saw %s", in, name) }); err != nil {
			t.Error(err)
		}
	}
}

func TestScanLeavesTheRest(t *testing.T) {
	data := []byte(`xx {"a":1}{"a":`)
	end, err := Scan(data, 2)
	if err != nil || end != 10 {
		t.Fatalf("got %d, %v", end, err)
	}
	if _, err = Scan(data, end); err == nil || err.Error() != "byte 15: unexpected end, expected a value" {
		t.Errorf("got %v", err)
	}
}

// A million names are what one large message may hold: they are all compared,
// and what that took is not kept.
func TestMillionNames(t *testing.T) {
	n := 1_000_000
	if racetest.Enabled {
		n = 100_000 // the race detector makes it slow and no more telling
	}
	data := []byte(numbered(n, "%08d"))
	if err := Check(data); err != nil {
		t.Fatal(err)
	}
	twice := bytes.Replace(data, fmt.Appendf(nil, `"%08d"`, n-1), []byte(`"00000007"`), 1)
	if err := Check(twice); err == nil || !strings.Contains(err.Error(), `duplicate name "00000007"`) {
		t.Errorf("got %v", err)
	}
	c := takeChecker()
	defer c.release()
	if cap(c.names) > 4096 || cap(c.slots) > 8192 {
		t.Errorf("the pool keeps %d names and %d slots", cap(c.names), cap(c.slots))
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	data := []byte(`{"a":[1,2,{"b":"c"}],"d":{"\u0065":null}}`)
	if n := testing.AllocsPerRun(100, func() {
		if Check(data) != nil {
			t.Error("refused")
		}
	}); n > 0 && !racetest.Enabled {
		t.Errorf("%v allocations", n)
	}
}
