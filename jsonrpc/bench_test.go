package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

const legacyRequest = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"add","arguments":{"a":3,"b":4}}}`

const modernRequest = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"add","arguments":{"a":3,"b":4},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"example-client","title":"Example","version":"1.4.2"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"progressToken":17}}}`

func longArgument() string {
	return `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write","arguments":{"text":"` + strings.Repeat("The quick brown fox. ", 50000) + `"}}}`
}

func longArgumentOther() string {
	return `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write","arguments":{"text":"` + strings.Repeat("日本語の文章。é", 45000) + `"}}}`
}

func toolList() string {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":17,"result":{"tools":[`)
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool number %d","description":"Does what tool %d does, which is to look something up and say what it found there.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["query"],"additionalProperties":false},`+
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i, i)
	}
	b.WriteString(`]}}`)
	return b.String()
}

func cases() []struct{ name, in string } {
	return []struct{ name, in string }{
		{"legacy", legacyRequest}, {"modern", modernRequest}, {"1MBascii", longArgument()}, {"1MButf8", longArgumentOther()}, {"1000tools", toolList()},
	}
}

// envelope is what encoding/json is given to decode, for comparison.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range cases() {
		data := []byte(c.in)
		run := func(name string, do func() bool) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if !do() {
						b.Fatal("refused")
					}
				}
			})
		}
		run("Decode", func() bool { _, err := Decode(data); return err == nil })
		run("skip", func() bool { return len(rawjson.Lookup(data, "none")) == 0 })
		run("jsontext", func() bool { return jsontext.Value(data).IsValid() })
		run("encoding-json", func() bool { var e envelope; return json.Unmarshal(data, &e) == nil })
	}
}

func BenchmarkAppend(b *testing.B) {
	result, id := []byte(`{"content":[{"type":"text","text":"7"}],"isError":false}`), IntID(17)
	large := []byte(toolList())
	buf := make([]byte, 0, 1<<20)
	b.Run("result", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendResult(buf, id, result)
		}
	})
	b.Run("1000tools", func(b *testing.B) {
		b.SetBytes(int64(len(large)))
		b.ReportAllocs()
		for b.Loop() {
			AppendResult(buf, id, large)
		}
	})
}

func BenchmarkMillionNames(b *testing.B) {
	data := []byte(`{"00000000":0`)
	for i := 1; i < 1_000_000; i++ {
		data = fmt.Appendf(data, `,"%08x":0`, i)
	}
	data = append(data, '}')
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if rawjson.Check(data) != nil {
			b.Fatal("refused")
		}
	}
}
