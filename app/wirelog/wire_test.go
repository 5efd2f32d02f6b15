package wirelog

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

func TestMessagesAreJoined(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("s")
	for _, m := range talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":"p"}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
		< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
		> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
		> {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"other"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}
		> {"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}
		< garbage`) {
		w.addFrame(m)
	}
	w.Stderr("a line")
	w.Event("it ended")
	ms, _ := l.Since(0, 0)
	var got string
	for _, m := range ms {
		got += fmt.Sprintf("%d %s %s %s %s joins %d answered %d %s\n", m.Seq, m.Kind, m.Method, m.ID, m.Tool, m.Joins, m.AnsweredBy, m.Era)
	}
	want := `1 request initialize "init"  joins 0 answered 2 legacy
2 response initialize "init"  joins 1 answered 0 legacy
3 notification notifications/initialized   joins 0 answered 0 legacy
4 request tools/call 1 long joins 0 answered 8 legacy
5 notification notifications/progress  long joins 4 answered 0 legacy
6 request roots/list 1  joins 4 answered 7 legacy
7 response roots/list 1  joins 6 answered 0 legacy
8 response tools/call 1 long joins 4 answered 0 legacy
9 request tools/call "1" other joins 0 answered 0 legacy
10 notification notifications/cancelled  other joins 9 answered 0 legacy
11 request subscriptions/listen 5  joins 0 answered 0 modern
12 notification notifications/subscriptions/acknowledged   joins 11 answered 0 modern
13 noise    joins 0 answered 0 legacy
14 stderr    joins 0 answered 0 legacy
15 event    joins 0 answered 0 legacy
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, m := range ms[:12] {
		if len(m.Problems) > 0 {
			t.Errorf("%s has the problems %+v", m.Frame, m.Problems)
		}
	}
}

func TestWireCopiesFrames(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("s")
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.Frame(jsonrpc.Out, frame)
	frame[0] = 'x'
	m, _ := l.Get(1)
	if m.Dir != speccheck.ToServer || m.Frame[0] != '{' {
		t.Errorf("the message is %s %s", m.Dir, m.Frame)
	}
	if again := l.Wire("s"); again.Conn() != 2 {
		t.Errorf("the second connection is number %d", again.Conn())
	}
}

// Every message that was seen elsewhere keeps its time, also a line of standard
// error and an event.
func TestWireAddKeepsTheTime(t *testing.T) {
	log := NewLog(nil)
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	for _, m := range []speccheck.Message{
		{Kind: speccheck.KindRequest, Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Kind: speccheck.KindStderr, Frame: []byte("warming up")},
		{Kind: speccheck.KindEvent, Frame: []byte("exited")},
		{Kind: speccheck.KindInvalid, Frame: []byte("hello")},
	} {
		m.At = at
		log.Wire("x").Add(m)
		if got, _ := log.Get(log.Last()); got.Kind != m.Kind || !got.At.Equal(at) {
			t.Errorf("%s was seen at %v and is logged at %v", m.Kind, at, got.At)
		}
	}
}
