package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// secondRounds sends the rounds of a call after the first to another replica, and
// records whether the last response suggests to try again.
type secondRounds struct {
	to     string
	status atomic.Int64
	again  atomic.Bool
}

func (s *secondRounds) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"requestState"`)) {
			r.URL.Host = s.to
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		s.status.Store(int64(res.StatusCode))
		s.again.Store(res.StatusCode == http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "")
	}
	return res, err
}

// A replica with a call hangs (SIGSTOP). The client, whose answer another replica
// has to forward there, gets an error soon, though the connection between them is
// open. The error does not suggest to try again, since the replica may serve the
// call when it goes on: a client that does what it is told orders once. When the
// replica goes on, so do calls.
func TestReplicaHangs(t *testing.T) {
	_, legacy, servers := twoShops(t)
	w := start(t, 2, servers)
	stopped, other := w.replicas[0], w.replicas[1]
	signal := func(s syscall.Signal) {
		if err := stopped.cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	var hang atomic.Bool
	rounds := &secondRounds{to: other.addr}
	ctx, cancel := context.WithTimeout(t.Context(), 2*hangs)
	defer cancel()
	c, err := client.Dial(ctx, &streamclient.Endpoint{
		URL: "http://" + stopped.addr + "/mcp", Era: era.DialOptions{Known: mcp.Rev20260728}, HTTP: &http.Client{Transport: rounds},
	}, &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		if hang.Load() {
			signal(syscall.SIGSTOP)
			untilStopped(t, stopped.cmd.Process.Pid)
		}
		return accept(ctx, e)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	order := func(what string) error {
		res, err := c.CallTool(ctx, "legacy__order", map[string]any{"name": what}, nil)
		if err == nil && res.Content.Text() != "100 g of "+what {
			t.Errorf("the result is %q", res.Content.Text())
		}
		return err
	}
	if err := order("before"); err != nil { // there is a connection
		t.Fatal(err)
	}
	hang.Store(true)
	began := time.Now()
	err = order("meanwhile")
	t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("got %v", err)
	}
	again := rounds.again.Load()
	if again || rounds.status.Load() != http.StatusBadGateway {
		t.Errorf("status %d, which suggests to try again: %t", rounds.status.Load(), again)
	}
	hang.Store(false)
	signal(syscall.SIGCONT)
	for begin := time.Now(); order("after") != nil; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > hangs {
			t.Fatal("calls do not go on")
		}
	}
	if again {
		order("meanwhile")
	}
	if n := legacy.ordered("meanwhile"); n > 1 {
		t.Errorf("ordered %d times", n)
	}
}

// untilStopped waits until SIGSTOP has reached every thread of a process.
func untilStopped(t *testing.T, pid int) {
	for begin := time.Now(); time.Since(begin) < hangs; time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(files) == 0 {
			t.Errorf("no threads of process %d: %v", pid, err)
			return
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			stat, err := os.ReadFile(file)
			return err == nil && !bytes.Contains(stat, []byte(") T "))
		}) {
			return
		}
	}
	t.Errorf("process %d does not stop", pid)
}
