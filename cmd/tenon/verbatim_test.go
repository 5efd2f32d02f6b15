package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// verbatimTexts are texts that a renderer would change.
var verbatimTexts = map[string]string{
	"Markdown":        "# Title\n\n* one\n* **two** `three` [four](http://five)\n\n```go\nx := 1\n```\n> quote\n| a | b |\n|---|---|\n| 1 | 2 |\n---\n",
	"white space":     "\tindented\t tabs  and   spaces   \r\nCR LF\r\n\n\n  trailing  ",
	"one long line":   strings.Repeat("word ", 100) + strings.Repeat("x", 300),
	"no line end":     "42",
	"line ends":       "\n\n42\n\n",
	"control":         evil,
	"JSON":            "{\"b\": 1,\n \"a\":  [1.0, 9007199254740993]}",
	"other alphabets": "e\u0301 日本語 👩‍👩‍👧 \ufeff\u200b",
}

// verbatim is a server whose content is the text.
func verbatim(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		mcp.MethodDiscover:      `{"capabilities":{"tools":{},"resources":{},"prompts":{}}}`,
		mcp.MethodToolsList:     `{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`,
		mcp.MethodToolsCall:     `{"content":[{"type":"text","text":TEXT}]}`,
		mcp.MethodResourcesRead: `{"contents":[{"uri":"x://a","mimeType":"text/markdown","text":TEXT}]}`,
		mcp.MethodPromptsGet:    `{"description":"about it","messages":[{"role":"user","content":{"type":"text","text":TEXT}}]}`,
	}
	return listening(t, mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		body, ok := bodies[c.Method]
		if !ok {
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no %s", c.Method)
		}
		return mcp.Result{Body: json.RawMessage(strings.ReplaceAll(body, "TEXT", string(raw)))}, nil
	}))
}

// failing is a server whose one tool, buy, fails with the error.
func failing(t *testing.T, e error) string {
	t.Helper()
	return listening(t, mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch c.Method {
		case mcp.MethodDiscover:
			return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
		case mcp.MethodToolsList:
			return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"buy","inputSchema":{"type":"object"}}]}`)}, nil
		}
		return mcp.Result{}, e
	}))
}

// listening serves a handler over HTTP and returns its URL.
func listening(t *testing.T, h mcp.Handler) string {
	t.Helper()
	s, err := streamable.NewHandler(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() { s.Shutdown(); web.Close() })
	return web.URL + streamable.Path
}

// C2: without a terminal, text is written as it came, byte for byte.
func TestPipedTextIsTextThatCame(t *testing.T) {
	for name, text := range verbatimTexts {
		url := verbatim(t, text)
		file := filepath.Join(t.TempDir(), "out")
		for _, args := range [][]string{
			{"call", url, "say"}, {"read", url, "x://a"}, {"read", url, "x://a", "-o", file}, {"prompt", url, "p"},
		} {
			code, out, errs := output(t, binary(t, args...))
			if len(args) > 3 {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				out = string(data)
			}
			if code != 0 || out != text {
				t.Errorf("%s: %q: exit code %d, %q, not %q\n%s", name, args, code, out, text, errs)
			}
		}
		line, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		if code, out, errs := output(t, binary(t, "run", "-p", "say it", "-s", "builtin:calc", said(t, string(line)))); code != 0 || out != text {
			t.Errorf("%s: run: exit code %d, %q, not %q\n%s", name, code, out, text, errs)
		}
	}
}
