package wirelog

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/talktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

func TestLogKeepsTheLatest(t *testing.T) {
	l := NewLog(&LogOptions{MaxMessages: 100})
	for i := range 250 {
		l.Add(speccheck.Message{Kind: speccheck.KindEvent, Frame: fmt.Appendf(nil, "e%d", i)})
	}
	if l.Len() != 100 || l.Last() != 250 {
		t.Fatalf("%d messages are kept, the last is %d", l.Len(), l.Last())
	}
	ms, gap := l.Since(0, 3)
	if !gap || len(ms) != 3 || ms[0].Seq != 151 || string(ms[0].Frame) != "e150" {
		t.Errorf("the first are %v, gap %v", ms, gap)
	}
	if ms, gap := l.Since(249, 0); gap || len(ms) != 1 || ms[0].Seq != 250 {
		t.Errorf("the last are %v, gap %v", ms, gap)
	}
	if ms, gap := l.Since(250, 0); gap || len(ms) != 0 {
		t.Errorf("after the last are %v, gap %v", ms, gap)
	}
	if _, ok := l.Get(150); ok {
		t.Error("a message that was dropped is still there")
	}
	if m, ok := l.Get(151); !ok || string(m.Frame) != "e150" {
		t.Errorf("message 151 is %s, %v", m.Frame, ok)
	}
	l.Clear()
	if l.Len() != 0 || l.Add(speccheck.Message{}) != 251 {
		t.Error("numbers must go on after Clear")
	}
}

func TestLogIsBoundedInBytes(t *testing.T) {
	l := NewLog(&LogOptions{MaxBytes: 1 << 20})
	for range 50 {
		l.Add(speccheck.Message{Kind: speccheck.KindEvent, Frame: bytes.Repeat([]byte("x"), 100_000)})
	}
	if l.bytes > 1<<20 || l.Len() < 8 {
		t.Errorf("%d messages hold %d bytes", l.Len(), l.bytes)
	}
	huge := bytes.Repeat([]byte("x"), 4<<20)
	seq := l.Add(speccheck.Message{Kind: speccheck.KindInvalid, Frame: huge, Size: len(huge)})
	m, ok := l.Get(seq)
	if !ok || len(m.Frame) != 1<<17 || m.Size != 4<<20 {
		t.Errorf("of a huge frame %d bytes of %d are kept", len(m.Frame), m.Size)
	}
	sum := 0
	for i := range l.n {
		sum += cost(&l.ring[(l.head+i)%len(l.ring)].Message)
	}
	if sum != l.bytes {
		t.Errorf("the books say %d and the messages cost %d", l.bytes, sum)
	}
}

// I10: 100,000 messages in the history stay below 200 MB, whatever their size.
func TestAHundredThousandMessagesStayBelow200MB(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 200 MB")
	}
	for _, size := range []int{0, 2_000} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l := NewLog(nil)
		w := l.Wire("notes")
		pad := strings.Repeat("x", size)
		for i := range 50_000 {
			w.Frame(jsonrpc.Out, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_notes","arguments":{"q":"a","pad":"%s"}}}`, i, pad))
			w.Frame(jsonrpc.In, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"nothing %s"}]}}`, i, pad))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("padded with %d bytes: %d messages are kept in %d MB", size, l.Len(), used>>20)
		if used > 200_000_000 {
			t.Errorf("padded with %d bytes: %d messages hold %d MB", size, l.Len(), used/1_000_000)
		}
		if size == 0 && l.Len() != 100_000 {
			t.Errorf("%d of 100,000 small messages are kept", l.Len())
		}
		runtime.KeepAlive(w)
	}
}

func TestWatchWakesAndNeverHoldsUp(t *testing.T) {
	l := NewLog(nil)
	wake, stop := l.Watch()
	for range 1000 {
		l.Add(speccheck.Message{Kind: speccheck.KindEvent}) // nobody reads wake
	}
	<-wake
	select {
	case <-wake:
		t.Error("it woke twice for what could be read at once")
	default:
	}
	l.Add(speccheck.Message{Kind: speccheck.KindEvent})
	<-wake
	stop()
	l.Add(speccheck.Message{Kind: speccheck.KindEvent})
	select {
	case <-wake:
		t.Error("it woke after stop")
	default:
	}
}

func TestLogServesManyGoroutines(t *testing.T) {
	l := NewLog(&LogOptions{MaxMessages: 200})
	var wg sync.WaitGroup
	for range 4 {
		w := l.Wire("s")
		wg.Go(func() {
			for i := range 300 {
				w.Frame(jsonrpc.Out, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
				w.Frame(jsonrpc.In, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i))
			}
		})
		wg.Go(func() {
			var seq uint64
			for seq < 2400 {
				ms, _ := l.Since(seq, 50)
				for _, m := range ms {
					if m.Seq <= seq {
						t.Errorf("%d comes after %d", m.Seq, seq)
					}
					seq = m.Seq
				}
				l.Filter(Query{Problems: true}, 0, 10)
			}
		})
	}
	wg.Wait()
}

func TestFilter(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("notes")
	for _, m := range talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Find"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":"wrong"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`) {
		w.addFrame(m)
	}
	l.Wire("other").Event("it Started")
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "[7 6 5 4 3 2 1]"},
		{Query{Server: "other"}, "[7]"},
		{Query{Conn: 1, Dir: speccheck.FromServer}, "[5 2]"},
		{Query{Kinds: []speccheck.Kind{speccheck.KindNotification, speccheck.KindEvent}}, "[7 3]"},
		{Query{Method: "tools/"}, "[6 5 4]"},
		{Query{Tool: "Find"}, "[5 4]"},
		{Query{Joins: 4}, "[5 4]"},
		{Query{Text: "STARTED"}, "[7]"},
		{Query{Text: "wRONG"}, "[5]"},
		{Query{Text: "é"}, "[]"},
		{Query{Problems: true}, "[5]"},
		{Query{Rule: "shape.type"}, "[5]"},
		{Query{Rule: "jsonrpc.batch"}, "[]"},
	} {
		ms, _ := l.Filter(c.q, 0, 0)
		if got := fmt.Sprint(seqs(ms)); got != c.want {
			t.Errorf("%+v finds %s, want %s", c.q, got, c.want)
		}
	}
	ms, next := l.Filter(Query{Method: "tools/"}, 0, 2)
	more, end := l.Filter(Query{Method: "tools/"}, next, 2)
	if fmt.Sprint(seqs(ms), seqs(more), end) != "[6 5] [4] 0" {
		t.Errorf("pages are %v and %v, then %d", seqs(ms), seqs(more), end)
	}
}

func seqs(ms []speccheck.Message) []uint64 {
	all := []uint64{}
	for _, m := range ms {
		all = append(all, m.Seq)
	}
	return all
}

func BenchmarkWireFrame(b *testing.B) {
	l := NewLog(nil)
	w := l.Wire("notes")
	ask := []byte(`{"jsonrpc":"2.0","id":12345678,"method":"tools/call","params":{"name":"search_notes","arguments":{"query":"joinery","limit":20},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":12345678,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("nothing found ", 30) + `"}]}}`)
	b.SetBytes(int64(len(ask) + len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		w.Frame(jsonrpc.Out, ask)
		w.Frame(jsonrpc.In, answer)
	}
}

func TestDurations(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("s")
	start := time.Now()
	w.addFrame(speccheck.Message{At: start, Dir: speccheck.ToServer, Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	w.addFrame(speccheck.Message{At: start.Add(time.Second), Dir: speccheck.FromServer, Frame: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	ms, _ := l.Since(0, 0)
	if ms[1].Joins != 1 || ms[1].Duration != time.Second || ms[1].Method != "ping" || ms[0].AnsweredBy != 2 {
		t.Errorf("the answer is %+v", ms[1])
	}
}

// Large frames cost little more than the one strict scan of them.
func BenchmarkWireFrameLarge(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("nothing found\\n ", 70_000) + `"}]}}`)
	ask := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"` + strings.Repeat("nothing found ", 70_000) + `"},"name":"a",` + talktest.Meta + `}}`)
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(answer) + len(ask)))
		for b.Loop() {
			speccheck.ParseFrame(ask)
			speccheck.ParseFrame(answer)
		}
	})
	b.Run("wire", func(b *testing.B) {
		w := NewLog(nil).Wire("s")
		b.SetBytes(int64(len(answer) + len(ask)))
		b.ReportAllocs()
		for b.Loop() {
			w.Frame(jsonrpc.Out, ask)
			w.Frame(jsonrpc.In, answer)
		}
	})
}
