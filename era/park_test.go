package era_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A modern client that goes away between two rounds of a call cannot say so. The
// call that a gateway has made for it to an older server is held for half an hour
// and then given up: the server's request is answered with an error, and the call
// is cancelled.
func TestCallOfAClientThatWentAwayExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		var mu sync.Mutex
		var heard []string // after the server has asked
		go func() {
			for {
				frame, err := far.Read()
				if err != nil {
					return
				}
				m, _ := jsonrpc.Decode(frame)
				switch m.Method {
				case "initialize":
					far.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, initialized))
				case mcp.MethodToolsCall:
					far.Write([]byte(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}` + "\n"))
				case "", "notifications/cancelled":
					mu.Lock()
					heard = append(heard, string(frame))
					mu.Unlock()
				}
			}
		}()
		told := func() string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(heard, "\n")
		}
		upstream, err := era.Dial(t.Context(), near, able, &era.DialOptions{Known: mcp.Rev20251125})
		if err != nil {
			t.Fatal(err)
		}
		defer upstream.Close()
		gateway, err := era.NewServer(upstream, speaks["modern"])
		if err != nil {
			t.Fatal(err)
		}
		here, there := jsonrpc.Pipe()
		served := make(chan error, 1)
		go func() { served <- gateway.ServeStream(t.Context(), there) }()
		client, err := era.Dial(t.Context(), here, able, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Serve(t.Context(), call("ask"))
		if _, asked := errors.AsType[*mcp.InputRequired](err); !asked {
			t.Fatalf("the call came to %v", err)
		}
		client.Close()
		<-served
		time.Sleep(30*time.Minute - time.Second)
		if got := told(); got != "" {
			t.Errorf("before its time the server hears %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := told(); !strings.Contains(got, `"id":"q","error"`) || !strings.Contains(got, `"method":"notifications/cancelled"`) {
			t.Errorf("the server hears %s", got)
		}
	})
}
