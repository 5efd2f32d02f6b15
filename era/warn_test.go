package era_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// warned returns a persona and what it was warned of since the last time.
func warned() (*mcp.ClientProfile, func() []string) {
	var mu sync.Mutex
	var list []string
	p := *able
	p.OnWarning = func(w string) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, w)
	}
	return &p, func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		was := list
		list = nil
		return was
	}
}

// L27: messages that are skipped are reported, the first ones in full and then
// their number.
func TestSkippedMessagesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		asked, ended := play(t, script{"server/discover": say(discovered)}, far)
		persona, warnings := warned()
		p, err := era.Dial(t.Context(), near, persona, nil)
		if err != nil {
			t.Fatal(err)
		}
		send := func(line string, n int) {
			t.Helper()
			for ; n > 0; n -= min(n, 1000) {
				if err := far.Write([]byte(strings.Repeat(line+"\n", min(n, 1000)))); err != nil {
					t.Fatal(err)
				}
			}
		}
		send(`Server listening`, 1)
		send(`{"jsonrpc":"2.0","id":99,"result":{}}`, 1)
		send(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, 1)
		got := warnings()
		for i, want := range []string{`"Server listening"`, "unknown id 99", "roots/list"} {
			if len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("warning %d: got %q, want %s", i, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := warnings(); len(got) != 0 {
			t.Errorf("after silence: %q", got)
		}

		send(`junk`, 500_000)
		if got := warnings(); len(got) != 10 {
			t.Errorf("a flood made %d warnings at once", len(got))
		}
		time.Sleep(time.Minute)
		if got := warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "499,990 more warnings") {
			t.Errorf("after the flood: %q", got)
		}

		send(`junk`, 12)
		if got := warnings(); len(got) != 10 {
			t.Errorf("later: %d warnings", len(got))
		}
		p.Close()
		if got := warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "2 more warnings") {
			t.Errorf("when closed: %q", got)
		}
		<-ended
		_ = asked
	})
}

// A response that comes after its call was given up is no reason to warn.
func TestLateResponseIsNoWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		_, ended := play(t, script{"server/discover": say(discovered), "tools/call": later(time.Second, `"result":{"content":[]}`)}, far)
		persona, warnings := warned()
		p, err := era.Dial(t.Context(), near, persona, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := p.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"t"}`)}); err == nil {
			t.Error("the call came to a result")
		}
		time.Sleep(time.Minute)
		if got := warnings(); len(got) != 0 {
			t.Errorf("warned: %q", got)
		}
		p.Close()
		<-ended
	})
}

// L21: a response that cannot be read fails its call, in both eras, with the
// size or the position of the bad byte, and the next call works.
func TestUnreadableResponseFailsTheCall(t *testing.T) {
	big := `"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 9000) + `"}]}`
	for _, c := range []struct{ name, body, want string }{
		{"too long", big, "9073 bytes; the limit is 8192"},
		{"invalid UTF-8", `"result":{"content":[{"type":"text","text":"` + "\xff" + `"}]}`, "byte 68"},
	} {
		for _, known := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20251125} {
			t.Run(fmt.Sprint(c.name, " ", known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in, out := io.Pipe()
					from, to := io.Pipe()
					near := jsonrpc.Lines(in, to, in, 8192)
					far := jsonrpc.Lines(from, out, out, 0)
					_, ended := play(t, script{"initialize": say(initialized), "tools/call": once(c.body, `"result":{"content":[],"resultType":"complete"}`)}, far)
					persona, warnings := warned()
					p, err := era.Dial(t.Context(), near, persona, &era.DialOptions{Known: known})
					if err != nil {
						t.Fatal(err)
					}
					call := &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"t"}`)}
					begin := time.Now()
					if _, err := p.Serve(t.Context(), call); err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("got %v, want %s", err, c.want)
					}
					if took := time.Since(begin); took != 0 {
						t.Errorf("the call waited %s", took)
					}
					if _, err := p.Serve(t.Context(), call); err != nil {
						t.Errorf("the next call: %v", err)
					}
					if got := warnings(); len(got) != 0 {
						t.Errorf("warned as well: %q", got)
					}
					p.Close()
					to.Close()
					<-ended
				})
			})
		}
	}
}
