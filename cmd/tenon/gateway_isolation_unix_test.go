//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// at connects to a gateway as a client of a revision.
func at(t testing.TB, url string, revision mcp.Revision) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: url, Era: era.DialOptions{Known: revision}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// pid calls the tool of a neighbour that returns the id of its process.
func pid(t testing.TB, c *client.Client, server string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	res, err := c.CallTool(ctx, server+"__pid", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(res.Content.Text())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runs reports whether a process runs. A process that has ended and that its
// parent has not waited for does not run.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) // no /proc
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// toolNames returns the names of the tools at the gateway.
func toolNames(t testing.TB, c *client.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// TestGatewayWithAStoppedServer stops a program with SIGSTOP, so that it does not
// respond: its calls fail, its tools vanish, others go on, and it is used again
// when it continues, or after the gateway has restarted it.
func TestGatewayWithAStoppedServer(t *testing.T) {
	dir := neighbours(t, map[string]string{"stopped": `good ,"timeout":"1s"`, "other": "good"})
	url, _ := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
	c := at(t, url, mcp.Rev20260728)
	stopped := pid(t, c, "stopped")
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(stopped, syscall.SIGCONT)
	_, err := c.CallTool(t.Context(), "stopped__pid", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "server stopped: no response for 1s") {
		t.Errorf("a call of the stopped server: %v", err)
	}
	pid(t, c, "other")
	if names := toolNames(t, c); !slices.Equal(names, []string{"other__pid", "other__large"}) {
		t.Errorf("tools %q", names)
	}
	if _, err := c.CallTool(t.Context(), "stopped__pid", nil, nil); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("a call after that: %v", err)
	}
	syscall.Kill(stopped, syscall.SIGCONT)
	eventually(t, func() bool { return len(toolNames(t, c)) == 4 })
	pid(t, c, "stopped")
}

// TestGatewayRestartsAProgramForEver kills a program more often than a host would
// restart it.
func TestGatewayRestartsAProgramForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	dir := neighbours(t, map[string]string{"mortal": "good"})
	url, _ := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
	c := at(t, url, mcp.Rev20260728)
	last := 0
	for range 6 {
		eventually(t, func() bool {
			res, err := c.CallTool(t.Context(), "mortal__pid", nil, nil)
			if err != nil {
				return false
			}
			now, _ := strconv.Atoi(res.Content.Text())
			was := last
			last = now
			return now != was
		})
		if err := syscall.Kill(last, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGatewayConnectionPerSession gives each session a process of its own, which
// ends with the session.
func TestGatewayConnectionPerSession(t *testing.T) {
	dir := neighbours(t, map[string]string{"own": `good ,"connection":{"scope":"session","max":3}`, "all": "good"})
	url, _ := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
	one, two := at(t, url, mcp.Rev20250618), at(t, url, mcp.Rev20250618)
	first, second := pid(t, one, "own"), pid(t, two, "own")
	if again := pid(t, one, "own"); first == second || first != again {
		t.Errorf("the processes of two sessions are %d, %d and %d", first, second, again)
	}
	modern := pid(t, at(t, url, mcp.Rev20260728), "own")
	if again := pid(t, at(t, url, mcp.Rev20260728), "own"); modern != again || modern == first {
		t.Errorf("the processes of clients without sessions are %d and %d", modern, again)
	}
	if a, b := pid(t, one, "all"), pid(t, two, "all"); a != b {
		t.Errorf("the processes that all share are %d and %d", a, b)
	}
	if names := toolNames(t, one); len(names) != 4 {
		t.Errorf("tools %q", names)
	}
	one.Close()
	eventually(t, func() bool { return !runs(first) })
	if !runs(second) {
		t.Error("the process of the other session has ended too")
	}
}

// TestGatewayLeavesNoOrphans kills a gateway whose clients have processes of their
// own.
func TestGatewayLeavesNoOrphans(t *testing.T) {
	dir := neighbours(t, map[string]string{"own": `good ,"connection":"session"`, "all": "good"})
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		cmd := binary(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
		out := &told{said: make(chan string, 1)}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		var url string
		select {
		case url = <-out.said:
		case <-time.After(hangs):
			cmd.Process.Kill()
			t.Fatal("the gateway does not say its address")
		}
		one, two := at(t, url, mcp.Rev20250618), at(t, url, mcp.Rev20250618)
		all := []int{pid(t, one, "own"), pid(t, two, "own"), pid(t, one, "all")}
		cmd.Process.Signal(signal)
		<-ended
		eventually(t, func() bool { return !slices.ContainsFunc(all, runs) })
	}
}

// TestGatewayWithBadNeighbours has calls of a good server complete while another
// one does what it should not.
func TestGatewayWithBadNeighbours(t *testing.T) {
	for _, how := range []string{"floods", "garbage", "storm", "hangs", "dies"} {
		t.Run(how, func(t *testing.T) {
			dir := neighbours(t, map[string]string{"good": "good", "bad": how})
			url, _ := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
			c := at(t, url, mcp.Rev20260728)
			first := pid(t, c, "good")
			for range 50 {
				if now := pid(t, c, "good"); now != first {
					t.Fatalf("the process was %d and is %d", first, now)
				}
			}
			if names := toolNames(t, c); !slices.Contains(names, "good__pid") {
				t.Errorf("tools %q", names)
			}
			if how == "hangs" || how == "dies" {
				return
			}
			pid(t, c, "bad") // it works as well
		})
	}
}

// TestGatewayPassesLargeResults has a result of 5 MB pass, while others call.
func TestGatewayPassesLargeResults(t *testing.T) {
	dir := neighbours(t, map[string]string{"good": "good", "other": "good"})
	url, _ := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
	for _, revision := range []mcp.Revision{mcp.Rev20250618, mcp.Rev20260728} {
		c := at(t, url, revision)
		done := make(chan int, 1)
		go func() {
			n := 0
			for range 5 {
				if res, err := c.CallTool(t.Context(), "other__large", nil, nil); err == nil {
					n += len(res.Content.Text())
				}
			}
			done <- n
		}()
		for range 20 {
			pid(t, c, "good")
		}
		if n := <-done; n != 5*5<<20 {
			t.Errorf("%s: %d bytes", revision, n)
		}
	}
}
