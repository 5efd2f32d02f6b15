package jsonrpc

import (
	"bytes"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

func TestAppend(t *testing.T) {
	broken := []byte("{\n  \"a\": \"x \\n y\",\r\n  \"b\": [ 1, 2 ]\n}")
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"request", AppendRequest(nil, IntID(1), "tools/call", []byte(`{"a":1}`)), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}`},
		{"no params", AppendRequest(nil, StringID("a\"b"), "m", nil), `{"jsonrpc":"2.0","id":"a\"b","method":"m"}`},
		{"empty params", AppendRequest(nil, IntID(-5), "m", []byte{}), `{"jsonrpc":"2.0","id":-5,"method":"m"}`},
		{"id as it came", AppendResult(nil, ID(`"\u0061\/"`), nil), `{"jsonrpc":"2.0","id":"\u0061\/","result":{}}`},
		{"odd method", AppendNotification(nil, "a\n\"\xff", nil), "{\"jsonrpc\":\"2.0\",\"method\":\"a\\n\\\"\ufffd\"}"},
		{"notification", AppendNotification(nil, "n", []byte(`{ "a" : 1 }`)), `{"jsonrpc":"2.0","method":"n","params":{ "a" : 1 }}`},
		{"result", AppendResult(nil, ID("9223372036854775808"), []byte(`{"x":[]}`)), `{"jsonrpc":"2.0","id":9223372036854775808,"result":{"x":[]}}`},
		{"result on many lines", AppendResult(nil, IntID(0), broken), `{"jsonrpc":"2.0","id":0,"result":{"a":"x \n y","b":[1,2]}}`},
		{"params on many lines", AppendRequest(nil, IntID(0), "m", broken), `{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":"x \n y","b":[1,2]}}`},
		{"error", AppendError(nil, IntID(3), &Error{Code: -32601, Message: "no \"m\"\n"}), `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no \"m\"\n"}}`},
		{"error without id", AppendError(nil, nil, &Error{Code: CodeParse, Message: "x"}), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`},
		{"error with data", AppendError(nil, StringID(""), &Error{Code: 1, Data: []byte("[1,\n2]")}), `{"jsonrpc":"2.0","id":"","error":{"code":1,"message":"","data":[1,2]}}`},
		{"raw", AppendRaw([]byte("before "), []byte("\n1\r\n")), `before 1`},
		{"raw that was never checked", AppendRaw(nil, []byte("\"a\nb")), `"a\nb`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
		if bytes.ContainsAny(c.got, "\r\n") {
			t.Errorf("%s: more than one line", c.name)
		}
	}
}

func TestAppendAppends(t *testing.T) {
	dst := []byte("x")
	dst = AppendRequest(dst, IntID(1), "m", nil)
	dst = AppendNotification(dst, "n", nil)
	dst = AppendResult(dst, IntID(1), nil)
	dst = AppendError(dst, IntID(1), &Error{})
	i, messages := 1, 0
	for ; i < len(dst); messages++ {
		end, err := rawjson.Scan(dst, i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(dst[i:end]); err != nil {
			t.Error(err)
		}
		i = end
	}
	if messages != 4 {
		t.Errorf("%d messages", messages)
	}
}

// The envelope costs nothing but the method, and writing costs nothing at all
// once the buffer is there.
func TestAllocations(t *testing.T) {
	modern, legacy, answer := []byte(modernRequest), []byte(legacyRequest), []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	result, buf := []byte(`{"content":[]}`), make([]byte, 0, 4096)
	id, failure := IntID(12345), &Error{Code: 1, Message: "no"}
	for _, c := range []struct {
		name string
		most float64
		do   func()
	}{
		{"decode a request", 1, func() { _, _ = Decode(modern) }},
		{"decode a legacy request", 1, func() { _, _ = Decode(legacy) }},
		{"decode a result", 0, func() { _, _ = Decode(answer) }},
		{"append a request", 0, func() { AppendRequest(buf, id, "tools/call", result) }},
		{"append a result", 0, func() { AppendResult(buf, id, result) }},
		{"append an error", 0, func() { AppendError(buf, id, failure) }},
	} {
		got := testing.AllocsPerRun(200, c.do)
		if got > c.most && !racetest.Enabled {
			t.Errorf("%s: %v allocations, at most %v are allowed", c.name, got, c.most)
		}
	}
}
