package notes

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// While the vault is being read the server answers all that needs no index, and
// whoever needs it waits, is told how far it is, and can leave.
func TestBeforeReady(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, golden)
	synctest.Test(t, func(t *testing.T) {
		c := Config{Vault: dir}
		v, err := open(c)
		if err != nil {
			t.Fatal(err)
		}
		defer v.root.Close()
		s, err := v.server(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourceTemplatesList} {
			if _, err := s.Serve(t.Context(), &mcp.Call{Method: method}); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		if r := use(t, s, "", "read_note", `{"path":"Garden.md"}`); r.Failed {
			t.Error(r.Text)
		}

		waits := []*mcp.Call{
			{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search_notes","arguments":{"query":"garden"}}`)},
			{Method: mcp.MethodResourcesList},
			{Method: mcp.MethodComplete, Params: json.RawMessage(`{"ref":{"type":"ref/resource","uri":"` + template + `"},"argument":{"name":"path","value":""}}`)},
		}
		for _, call := range waits {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := s.Serve(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", call.Method, err)
			}
			cancel()
		}

		v.total.Store(100)
		box := &mailbox{}
		done := make(chan string)
		go func() {
			call := *waits[0]
			call.Progress, call.OnNotification = true, box.put
			res, err := s.Serve(t.Context(), &call)
			if err != nil {
				t.Error(err)
			}
			done <- string(res.Body)
		}()
		for i := range 4 {
			v.done.Store(int64(20 * i))
			time.Sleep(time.Second)
		}
		v.readAll(t.Context(), []file{{name: "Garden.md"}})
		close(v.ready)
		contains(t, "the answer", <-done, "Garden.md")
		contains(t, "progress", box.all(), `"progress":20,"total":100,"message":"reading the vault: 20 of 100 notes"`)
		if n := strings.Count(box.all(), "progress\":20"); n != 1 {
			t.Errorf("the same was told %d times", n)
		}
	})
}
