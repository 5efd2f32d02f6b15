package speccheck

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/talktest"
)

// A side that never answers, or answers under ever new ids, is not remembered
// without bound.
func TestConversationsAreBounded(t *testing.T) {
	var th Conversation
	for i := range 3 * maxOpen {
		m := Message{Dir: ToServer, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"vendor/x","params":{"_meta":{"progressToken":%d}}}`, i, i)}
		r := ParseFrame(m.Frame)
		th.Follow(&m, &r, true)
	}
	if len(th.open[0]) > maxOpen || len(th.tokens) > maxOpen || len(th.history[0].m) > maxRecent || len(th.history[0].keys) > maxRecent {
		t.Errorf("%d open, %d tokens, %d past", len(th.open[0]), len(th.tokens), len(th.history[0].m))
	}
}

// Open requests hold nothing large: what is kept of a conversation is bounded by
// the log alone.
func TestOpenRequestsHoldNoLargeFrames(t *testing.T) {
	var th Conversation
	pad := strings.Repeat("x", 1<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 100 {
		m := Message{Dir: ToServer, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","arguments":{"pad":"%s"},%s}}`, i, pad, talktest.Meta)}
		r := ParseFrame(m.Frame)
		th.Follow(&m, &r, true)
		if o := th.open[0][fmt.Sprint(i)]; o != nil && o.caps == nil {
			t.Fatal("the capabilities are lost")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); len(th.open[0]) != 100 || used > 10<<20 {
		t.Errorf("%d open requests hold %d MB", len(th.open[0]), used>>20)
	}
	runtime.KeepAlive(&th)
}
