package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
)

// told writes a message in a way that a table can hold.
func told(m Message) string {
	switch {
	case m.IsRequest():
		return fmt.Sprintf("request %s %s %s", m.ID, m.Method, m.Params)
	case m.IsNotification():
		return fmt.Sprintf("notification %s %s", m.Method, m.Params)
	case m.Error != nil:
		return fmt.Sprintf("error %s %d %q %s", m.ID, m.Error.Code, m.Error.Message, m.Error.Data)
	case m.IsResponse():
		return fmt.Sprintf("result %s %s", m.ID, m.Result)
	}
	return "nothing"
}

// goodMessages and badMessages are the tables that the tests and the fuzz
// targets share. Row names W… are those of the catalogue of hostile cases.
var goodMessages = []struct{ name, in, want string }{
	{"request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, `request 1 tools/call {"name":"echo"}`},
	{"any order", `{"params":{},"method":"m","id":"x","jsonrpc":"2.0"}`, `request "x" m {}`},
	{"white space", " {\r\n\t\"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" , \"params\" : { \"a\" : 1 } } \n", `request 1 m { "a" : 1 }`},
	{"no params", `{"jsonrpc":"2.0","id":1,"method":"m"}`, `request 1 m `},
	{"escaped names and method", `{"\u006asonrpc":"\u0032.0","\u0069d":1,"method":"tools\/call"}`, `request 1 tools/call `},
	{"unknown members", `{"jsonrpc":"2.0","id":1,"method":"m","extra":[{"a":1}],"ID":2,"Method":"other","Params":5,"":null}`, `request 1 m `},
	{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `notification notifications/initialized `},
	{"notification with params", `{"jsonrpc":"2.0","method":"n","params":{"x":[1]}}`, `notification n {"x":[1]}`},
	{"W22 id empty", `{"jsonrpc":"2.0","id":"","method":"m"}`, `request "" m `},
	{"id 0", `{"jsonrpc":"2.0","id":0,"method":"m"}`, `request 0 m `},
	{"id -1", `{"jsonrpc":"2.0","id":-1,"method":"m"}`, `request -1 m `},
	{"id -0", `{"jsonrpc":"2.0","id":-0,"method":"m"}`, `request -0 m `},
	{"id 2^63", `{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}`, `request 9223372036854775808 m `},
	{"id of 40 digits", `{"jsonrpc":"2.0","id":1234567890123456789012345678901234567890,"method":"m"}`, `request 1234567890123456789012345678901234567890 m `},
	{"id with escapes", `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, `request "\u0061\/" m `},
	{"id \"null\"", `{"jsonrpc":"2.0","id":"null","method":"m"}`, `request "null" m `},
	{"id of 1024 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1022) + `","method":"m"}`, `request "` + strings.Repeat("i", 1022) + `" m `},
	{"W26 case of names", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"admin"}}`, `request 1 tools/call {"name":"echo","Name":"admin"}`},
	{"W28 name with NUL", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name\u0000":"admin","name":"echo"}}`, `request 1 tools/call {"name\u0000":"admin","name":"echo"}`},
	{"W28 on top", `{"jsonrpc":"2.0","id":1,"method":"m","method\u0000":"n","id\u0000":2}`, `request 1 m `},
	{"W36 large number", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"ms":1e309}}`, `request 1 m {"ms":1e309}`},
	{"W46 names of other languages", `{"jsonrpc":"2.0","id":1,"method":"toString","params":{"__proto__":1,"constructor":2}}`, `request 1 toString {"__proto__":1,"constructor":2}`},
	{"depth 512", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}}`, `request 1 m {"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}`},
	{"W40 result", `{"jsonrpc":"2.0","id":77,"result":{}}`, `result 77 {}`},
	{"result beside unknown", `{"result":{"a":null},"id":"q","jsonrpc":"2.0","extra":1}`, `result "q" {"a":null}`},
	{"error", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, `error 7 -32601 "no" `},
	{"error with data", `{"jsonrpc":"2.0","id":7,"error":{"data":[1, 2],"more":true,"message":"a\nb","code":0}}`, `error 7 0 "a\nb" [1, 2]`},
	{"error with data null", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"","data":null}}`, `error 7 1 "" null`},
	{"error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `error  -32700 "x" `},
	{"error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, `error  -32700 "x" `},
	{"params beside a result", `{"jsonrpc":"2.0","id":1,"result":{},"params":5}`, `result 1 {}`},
}

var badMessages = []struct {
	name, in string
	code     int
	id       string // "" means none
	reason   string // a part of it
}{
	{"nothing", ``, CodeParse, "", "expected a value"},
	{"W02 no JSON", `this is not json`, CodeParse, "", "not valid JSON: byte 0"},
	{"W06 first half", `{"jsonrpc":"2.0",`, CodeParse, "", "byte 17"},
	{"W08 two messages", `{"jsonrpc":"2.0","id":1,"method":"m"}{"jsonrpc":"2.0","id":2,"method":"m"}`, CodeParse, "", "byte 37: '{' after the end"},
	{"W10 invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"msg\":\"\xff\xfe\"}}", CodeParse, "", "0xff is not valid UTF-8"},
	{"W10 overlong", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"msg\":\"\xc0\xaf\"}}", CodeParse, "", "UTF-8"},
	{"W10 surrogate", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"msg\":\"\xed\xa0\x80\"}}", CodeParse, "", "UTF-8"},
	{"W10 in unknown member", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xff\"}", CodeParse, "", "UTF-8"},
	{"half a pair", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"msg":"\ud800"}}`, CodeParse, "", "surrogate"},
	{"W12 raw NUL", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"msg\":\"a\x00\"}}", CodeParse, "", "control character 0x00"},
	{"W14 empty batch", `[]`, CodeInvalidRequest, "", "found an array"},
	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, CodeInvalidRequest, "", "found an array"},
	{"scalar", `5`, CodeInvalidRequest, "", "expected a JSON object"},
	{"null", `null`, CodeInvalidRequest, "", "expected a JSON object"},
	{"string", `"{}"`, CodeInvalidRequest, "", "expected a JSON object"},
	{"empty object", `{}`, CodeInvalidRequest, "", `jsonrpc: missing`},
	{"W16 id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, "", "null is not allowed"},
	{"id true", `{"jsonrpc":"2.0","id":true,"method":"m"}`, CodeInvalidRequest, "", "id: expected a string or an integer"},
	{"id false", `{"jsonrpc":"2.0","id":false,"method":"m"}`, CodeInvalidRequest, "", "id: expected"},
	{"id object", `{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, CodeInvalidRequest, "", "id: expected"},
	{"id array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, CodeInvalidRequest, "", "id: expected"},
	{"W18 id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, CodeInvalidRequest, "", "without fraction"},
	{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, CodeInvalidRequest, "", "without fraction"},
	{"W20 id 1e400", `{"jsonrpc":"2.0","id":1e400,"method":"m"}`, CodeInvalidRequest, "", "exponent"},
	{"id 1E2", `{"jsonrpc":"2.0","id":1E2,"method":"m"}`, CodeInvalidRequest, "", "exponent"},
	{"id 01", `{"jsonrpc":"2.0","id":01,"method":"m"}`, CodeParse, "", "leading zero"},
	{"id of 1025 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1023) + `","method":"m"}`, CodeInvalidRequest, "", "1025 bytes"},
	{"W24 version 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, CodeInvalidRequest, "1", `expected the string "2.0"`},
	{"W24 version a number", `{"jsonrpc":2.0,"id":"a","method":"m"}`, CodeInvalidRequest, `"a"`, `expected the string "2.0"`},
	{"W24 version missing", `{"id":1,"method":"m"}`, CodeInvalidRequest, "1", `jsonrpc: missing`},
	{"W24 version null", `{"jsonrpc":null,"id":1,"method":"m"}`, CodeInvalidRequest, "1", `"2.0"`},
	{"version in other case", `{"JSONRPC":"2.0","id":1,"method":"m"}`, CodeInvalidRequest, "1", `jsonrpc: missing`},
	{"version 2.0 with space", `{"jsonrpc":"2.0 ","id":1,"method":"m"}`, CodeInvalidRequest, "1", `"2.0"`},
	{"version and id wrong", `{"jsonrpc":"1.0","id":1.5,"method":"m"}`, CodeInvalidRequest, "", `"2.0"`},
	{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, CodeInvalidRequest, "1", `method: expected a non-empty string`},
	{"method a number", `{"jsonrpc":"2.0","id":1,"method":5}`, CodeInvalidRequest, "1", `method: expected a non-empty string`},
	{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, CodeInvalidRequest, "1", `method: expected a non-empty string`},
	{"nothing but an id", `{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest, "1", "no method"},
	{"W30 params array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, CodeInvalidParams, "1", `params: expected an object`},
	{"W30 params string", `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, CodeInvalidParams, "1", `params: expected an object`},
	{"W30 params number", `{"jsonrpc":"2.0","id":1,"method":"m","params":5}`, CodeInvalidParams, "1", `params: expected an object`},
	{"params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, CodeInvalidParams, "1", `params: expected an object`},
	{"W42 notification's params", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}`, CodeInvalidParams, "", `params: expected an object`},
	{"W32 20,000 arrays", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}`, CodeParse, "", "nested deeper than 512"},
	{"depth 513", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + `}}`, CodeParse, "", "nested deeper than 512"},
	{"W36 NaN", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"ms":NaN}}`, CodeParse, "", "cannot begin a value"},
	{"W36 Infinity", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"ms":Infinity}}`, CodeParse, "", "cannot begin a value"},
	{"W36 -Infinity", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"ms":-Infinity}}`, CodeParse, "", "missing digit"},
	{"id twice", `{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, CodeParse, "", `duplicate name "id"`},
	{"method twice, escaped", `{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`, CodeParse, "", `duplicate name "method"`},
	{"name twice in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}`, CodeParse, "", `duplicate name "name"`},
	{"name twice deep down", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{"b":{"c":1,"d":2,"\u0063":3}}]}}`, CodeParse, "", `duplicate name "c"`},
	{"request and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, CodeInvalidRequest, "1", "both a method and a result"},
	{"request and error", `{"jsonrpc":"2.0","id":1,"method":"m","error":null}`, CodeInvalidRequest, "1", "both a method and a result"},
	{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, CodeInvalidRequest, "1", "both a result and an error"},
	{"result and error null", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, CodeInvalidRequest, "1", "both a result and an error"},
	{"result null", `{"jsonrpc":"2.0","id":1,"result":null}`, CodeInvalidRequest, "1", `result: expected an object`},
	{"result array", `{"jsonrpc":"2.0","id":1,"result":[]}`, CodeInvalidRequest, "1", `result: expected an object`},
	{"result scalar", `{"jsonrpc":"2.0","id":"x","result":"done"}`, CodeInvalidRequest, `"x"`, `result: expected an object`},
	{"result without id", `{"jsonrpc":"2.0","result":{}}`, CodeInvalidRequest, "", "needs the id"},
	{"result with id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, CodeInvalidRequest, "", "null is not allowed"},
	{"result of another version", `{"jsonrpc":"1.0","id":1,"result":{}}`, CodeInvalidRequest, "1", `"2.0"`},
	{"error a string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, CodeInvalidRequest, "1", `error: expected an object`},
	{"error null", `{"jsonrpc":"2.0","id":1,"error":null}`, CodeInvalidRequest, "1", `error: expected an object`},
	{"error with id 1.5", `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":""}}`, CodeInvalidRequest, "", "id: expected"},
	{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, CodeInvalidRequest, "1", "error.code: expected an integer"},
	{"error code a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, CodeInvalidRequest, "1", "error.code: expected an integer"},
	{"error code 1.5", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, CodeInvalidRequest, "1", "error.code: expected an integer"},
	{"error code 1e3", `{"jsonrpc":"2.0","id":1,"error":{"code":1e3,"message":"x"}}`, CodeInvalidRequest, "1", "error.code: expected an integer"},
	{"error code too large", `{"jsonrpc":"2.0","id":1,"error":{"code":9223372036854775808,"message":"x"}}`, CodeInvalidRequest, "1", "out of range"},
	{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, CodeInvalidRequest, "1", "error.message: expected a string"},
	{"error message null", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, CodeInvalidRequest, "1", "error.message: expected a string"},
}

func TestDecode(t *testing.T) {
	for _, c := range goodMessages {
		m, err := Decode([]byte(c.in))
		if err != nil || told(m) != c.want {
			t.Errorf("%s: got %s %v, want %s", c.name, told(m), err, c.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range badMessages {
		m, err := Decode([]byte(c.in))
		e, ok := errors.AsType[*DecodeError](err)
		if !ok {
			t.Errorf("%s: got %s %v, want a DecodeError", c.name, told(m), err)
			continue
		}
		if e.Code != c.code || e.ID.String() != c.id || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %d id %q %q, want %d id %q %q", c.name, e.Code, e.ID, e.Reason, c.code, c.id, c.reason)
		}
		if told(m) != "nothing" {
			t.Errorf("%s: beside the error there is a message: %s", c.name, told(m))
		}
	}
}

// A response that cannot be read must not be answered with another one.
func TestDecodeErrorKnowsAnswers(t *testing.T) {
	for _, c := range badMessages {
		_, err := Decode([]byte(c.in))
		e, ok := errors.AsType[*DecodeError](err)
		want := strings.HasPrefix(c.name, "result") || strings.HasPrefix(c.name, "error")
		if !ok || e.Response != want {
			t.Errorf("%s: Answer is not %v", c.name, want)
		}
	}
}

func TestDecodeMillionNames(t *testing.T) { // W34
	n := 1_000_000
	if racetest.Enabled {
		n = 100_000 // the race detector makes it slow and no more telling
	}
	b := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"00000000":0`)
	for i := 1; i < n; i++ {
		b = fmt.Appendf(b, `,"%08x":0`, i)
	}
	b = append(b, "}}"...)
	if m, err := Decode(b); err != nil || m.Method != "m" {
		t.Errorf("got %v", err)
	}
}

func TestDecodeCopiesNothing(t *testing.T) {
	data := []byte(`{"jsonrpc":"2.0","id":"abc","method":"m","params":{"a":1}}`)
	m, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[bytes.Index(data, []byte(`"abc"`)):], `"xyz"`)
	copy(data[bytes.Index(data, []byte(`{"a":1}`)):], `{"z":9}`)
	if m.ID.String() != `"xyz"` || string(m.Params) != `{"z":9}` {
		t.Errorf("there are copies: %s %s", m.ID, m.Params)
	}
}

func TestIDs(t *testing.T) {
	// Ids in one row are equal; ids in different rows are not.
	rows := [][]ID{
		{nil},
		{ID("1"), IntID(1)},
		{ID(`"1"`), StringID("1"), ID(`"\u0031"`)},
		{ID("0"), ID("-0"), IntID(0)},
		{ID(`"-0"`)},
		{ID(`"0"`)},
		{ID(`""`), StringID("")},
		{ID("-1"), IntID(-1)},
		{ID("9223372036854775807"), IntID(1<<63 - 1)},
		{ID("9223372036854775808")},
		{ID(`"a/b"`), ID(`"a\/b"`), ID(`"\u0061/b"`)},
		{ID(`"A/b"`)},
		{ID(`"\n"`), ID(`"\u000a"`), ID(`"\u000A"`), StringID("\n")},
		{ID(`"\\n"`), StringID(`\n`)},
		{ID(`"😀"`), ID(`"\ud83d\ude00"`)},
		{ID(`"\""`), StringID(`"`)},
	}
	for i, row := range rows {
		for j, other := range rows {
			for _, a := range row {
				for _, b := range other {
					if a.Equal(b) != (i == j) || (a.Key() == b.Key()) != (i == j) {
						t.Errorf("%s and %s: Equal says %v, keys %q and %q", a, b, a.Equal(b), a.Key(), b.Key())
					}
				}
			}
		}
	}
}

func TestDecodeBatch(t *testing.T) {
	items, err := DecodeBatch([]byte(` [ {"jsonrpc":"2.0","id":1,"method":"m"}, 5, {"jsonrpc":"2.0","method":"n","params":[]},
		[], {"jsonrpc":"2.0","id":"r","result":{"\u0061":1}}, {"id":9,"method":"m"} ] `), 6)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		if e, ok := errors.AsType[*DecodeError](it.Err); ok {
			got = append(got, fmt.Sprint(e.Code, " ", e.ID))
			continue
		}
		got = append(got, told(it.Message))
	}
	want := []string{"request 1 m ", "-32600 ", "-32602 ", "-32600 ", `result "r" {"\u0061":1}`, "-32600 9"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecodeBatchRefuses(t *testing.T) {
	one := `{"jsonrpc":"2.0","id":1,"method":"m"}`
	for _, c := range []struct {
		name, in string
		max      int
		code     int
	}{
		{"W14 empty", `[]`, 10, CodeInvalidRequest},
		{"empty with space", " [ \n] ", 0, CodeInvalidRequest},
		{"too long", "[" + strings.Repeat(one+",", 10) + one + "]", 10, CodeInvalidRequest},
		{"no array", one, 10, CodeInvalidRequest},
		{"not ended", "[" + one, 10, CodeParse},
		{"one bad spoils all", "[" + one + `,{"a":1,"a":2}]`, 10, CodeParse},
		{"something after", "[" + one + "]" + one, 10, CodeParse},
	} {
		items, err := DecodeBatch([]byte(c.in), c.max)
		if e, ok := errors.AsType[*DecodeError](err); !ok || e.Code != c.code || e.ID != nil || items != nil {
			t.Errorf("%s: got %v %v, want %d", c.name, items, err, c.code)
		}
	}
	for _, max := range []int{0, 11} {
		if items, err := DecodeBatch([]byte("["+strings.Repeat(one+",", 10)+one+"]"), max); err != nil || len(items) != 11 {
			t.Errorf("at most %d: got %d, %v", max, len(items), err)
		}
	}
}

func TestIsBatch(t *testing.T) {
	for in, want := range map[string]bool{"[": true, " \r\n\t[]": true, "{": false, "": false, " ": false, "x[": false} {
		if IsBatch([]byte(in)) != want {
			t.Errorf("%q: not %v", in, want)
		}
	}
}
