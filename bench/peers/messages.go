package main

import (
	"bytes"
	"fmt"
	"strings"
)

// The requests, as they go over the wire. Over HTTP all have the id 1.
const (
	envelope  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	initBody  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	readyBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	hearBody  = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + envelope + `}}`
)

// A work is what is asked of a server again and again.
type work struct {
	method string
	name   string // of the tool
	params string // what stands in params, without an envelope
	expect string // what stands in every right answer
	size   int    // bytes of the payload, for throughput
}

var (
	add   = work{method: "tools/call", name: "add", params: `"name":"add","arguments":{"a":20,"b":22}`, expect: `"sum":42`}
	list  = work{method: "tools/list", expect: `"tool_0999"`}
	steps = work{method: "tools/call", name: "steps", params: `"name":"steps","arguments":{}`, expect: `"done"`}
)

func blob(size int) work {
	return work{method: "tools/call", name: "blob", params: fmt.Sprintf(`"name":"blob","arguments":{"size":%d}`, size), expect: `Measure it`, size: size}
}

func argument(size int) work {
	const line = `Measure it, said the first, and wrote 0123456789 down on a line of text.\n`
	n := size / (len(line) - 1) // of which one is a backslash
	return work{
		method: "tools/call", name: "length", size: n * (len(line) - 1),
		params: `"name":"length","arguments":{"text":"` + strings.Repeat(line, n) + `"}`,
		expect: fmt.Sprintf(`"length":%d`, n*(len(line)-1)),
	}
}

// body is the message of a work in an era.
func (w *work) body(modern, progress bool) []byte {
	var parts []string
	if w.params != "" {
		parts = append(parts, w.params)
	}
	switch {
	case modern && progress:
		parts = append(parts, strings.Replace(envelope, `{`, `{"progressToken":1,`, 1))
	case modern:
		parts = append(parts, envelope)
	case progress:
		parts = append(parts, `"_meta":{"progressToken":1}`)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, w.method, strings.Join(parts, ","))
}

// post is an HTTP request with a body.
func post(addr string, body []byte, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", addr, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// request is the HTTP request of a work.
func (w *work) request(addr string, modern, progress bool, session string) []byte {
	body := w.body(modern, progress)
	if !modern {
		return post(addr, body, "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+session)
	}
	headers := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + w.method}
	if w.name != "" {
		headers = append(headers, "Mcp-Name: "+w.name)
	}
	return post(addr, body, headers...)
}
