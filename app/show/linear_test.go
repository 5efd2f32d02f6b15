package show

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// C3: rendering takes time in proportion to the text, whatever it consists of.
// The bound is a guard against what is quadratic, which would take hours.
func TestRenderingIsLinear(t *testing.T) {
	const size = 2 << 20 // a quadratic renderer takes minutes for each
	for _, unit := range []string{"x", "日", "e\u0301", "\u0301", "[", "[a](", "[a] ", "`", "*a ", "**", "*", "#", "|", "> ", "- ", "\x1b[31m", "\u009d", "\x1b]0;", "a b ", "\n", "\t", "```\n"} {
		done := make(chan error, 1)
		go func() {
			p := &Printer{W: io.Discard, Width: 80, Color: true}
			done <- p.Result(&mcp.CallToolResult{Content: mcp.Contents{&mcp.TextContent{Text: strings.Repeat(unit, size/len(unit))}}})
		}()
		began := time.Now()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%q: %v", unit, err)
			}
			t.Logf("%q: %v", unit, time.Since(began))
		case <-time.After(time.Minute):
			t.Fatalf("%q is not rendered after a minute", unit)
		}
	}
}

// Long words are broken where the line ends, styles and all.
func TestLongWordsAreBroken(t *testing.T) {
	var out strings.Builder
	p := &Printer{W: &out, Width: 10, Color: true}
	p.Markdown("**" + strings.Repeat("x", 25) + "** and 日本語日本語")
	want := "\x1b[1mxxxxxxxxxx\nxxxxxxxxxx\nxxxxx\x1b[0m and\n日本語日本\n語\n"
	if out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
}
