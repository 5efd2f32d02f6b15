package era_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A program that sends back what it is sent, such as cat, is told apart at
// once and not waited for, whichever way it is met.
func TestEcho(t *testing.T) {
	for _, known := range []mcp.Revision{"", mcp.Rev20251125} {
		synctest.Test(t, func(t *testing.T) {
			near, far := jsonrpc.Pipe()
			go func() {
				for {
					frame, err := far.Read()
					if err != nil || far.Write(append(frame, '\n')) != nil {
						far.Close()
						return
					}
				}
			}()
			began := time.Now()
			_, err := era.Dial(t.Context(), near, nil, &era.DialOptions{Known: known})
			if err == nil || !strings.Contains(err.Error(), "echoes its input") {
				t.Errorf("%q: %v", known, err)
			}
			if waited := time.Since(began); waited > 2*time.Second {
				t.Errorf("%q: it was waited for, %v by the test's own clock", known, waited)
			}
		})
	}
}
