package faults

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
)

// gatewayRole is tenon gateway before a faulty server. What a user sees is what
// the gateway's client sees. In the cells of a faulty server another client calls
// another server of the gateway all the time and must notice nothing.
var gatewayRole = role{
	name: "gateway", title: "A gateway before a faulty server", run: atGateway,
	rows: []row{
		{killed, "the server is killed before it answers", noSocket(fails, fails, fails), true},
		{hangs, "the server hangs", noSocket(timesOut, timesOut, timesOut), false},
		{halfOpen, "the network drops everything", []cell{never(pipesOnly), never(noSockets), {sees: timesOut}, {sees: timesOut}}, false},
		{slowReader, "the server reads slowly", noSocket(sees, sees, sees), false},
		{slowWriter, "the server sends its answer a byte at a time", noSocket(sees, sees, sees), false},
		{garbage, "the server sends garbage before its answer", noSocket(sees, fails, fails), true},
		{truncated, "the server sends half of its answer and ends", noSocket(fails, fails, fails), false},
		{duplicate, "the server sends its answer twice", noSocket(sees, sees, sees), false},
		{reordered, "the server answers calls in another order", []cell{{sees: eachSees}, never(noSockets), never(ownAnswer), {sees: eachSees}}, false},
		{clockJump, "the clock of the gateway jumps by hours, both ways", noSocket(sees, sees, sees), false},
		{diskFull, "the disk of the gateway is full", noSocket(fails, fails, fails), false},
		{noDescriptors, "the gateway is out of descriptors", noSocket(fails, fails, fails), false},
	},
}

// atGateway runs one cell.
func atGateway(t *testing.T, transport, fault string) (saw string, left []string) {
	home := t.TempDir()
	var ck *clock
	switch fault {
	case clockJump:
		ck = newClock(t)
	case diskFull:
		home = small(t, 4<<10)
	}
	f := newFaulty(t, transport, fault)
	configure(t, home, map[string]any{"mcpServers": map[string]any{
		"echo": f.entry(transport, timeout(fault).String()),
		"calc": map[string]any{"builtin": "calc"},
	}})
	p := prepare(t, home, ck, tenon(t, ck), "gateway", "--addr", "127.0.0.1:0", "--page", "off", "--project", home).start()
	at := dialer(overHTTP, p.address(), nil)
	warm := dial(t, at, nil)
	if saw := until(t, warm, "echo__echo", map[string]any{"text": "again"}); saw != sees {
		return saw + " before the fault", nil
	}
	var both sync.WaitGroup
	for range 2 { // so that there are as many idle connections as are kept
		both.Go(func() { call(t, warm, "echo__echo", map[string]any{"text": "later"}) })
	}
	both.Wait()
	warm.Close()
	b := p.measure()
	stop := func() {}
	if _, made := wireFaults[fault]; made {
		stop = neighbour(t, dial(t, at, nil))
	}
	c := dial(t, at, &client.Options{CacheBytes: -1})
	one := func(said string) string {
		saw, text := call(t, c, "echo__echo", map[string]any{"text": said})
		if saw == sees && !strings.Contains(text, said) {
			return "the wrong result"
		}
		return saw
	}
	// The audit log, without which there are no calls, is written 100 ms later, and
	// the last page of the file has room for some records.
	whileResults := func() (saw string) {
		for begin := time.Now(); time.Since(begin) < long; time.Sleep(10 * time.Millisecond) {
			if saw = one(mark); saw != sees {
				break
			}
		}
		return saw
	}
	switch fault {
	case reordered:
		var wg sync.WaitGroup
		second := ""
		wg.Go(func() { second = one("later") })
		saw = one(mark)
		if wg.Wait(); saw == sees && second == sees {
			saw = eachSees
		} else {
			saw += ", and for the other call " + second
		}
	case slowReader:
		saw = one(mark + strings.Repeat("x", 1<<20))
	case clockJump:
		ck.set(t, time.Hour)
		saw = one(mark)
		ck.set(t, -2*time.Hour)
	case diskFull:
		free := fill(t, home)
		saw = whileResults()
		free()
	case noDescriptors:
		if first := one("again"); first != sees { // and from here on it has a connection
			return first + " before the fault", nil
		}
		free := p.descriptors(0)
		saw = whileResults()
		late := make(chan string, 1)
		go func() { // a client that comes now waits
			ctx, cancel := context.WithTimeout(t.Context(), long)
			defer cancel()
			next, err := client.Dial(ctx, at, nil)
			if err != nil {
				late <- err.Error()
				return
			}
			defer next.Close()
			late <- until(t, next, "echo__echo", map[string]any{"text": "again"})
		}()
		time.Sleep(500 * time.Millisecond)
		free()
		if result := <-late; result != sees {
			saw += ", and a client that comes meanwhile " + result
		}
	default:
		saw = one(mark)
	}
	began := time.Now()
	f.mend(t)
	if after := until(t, c, "echo__echo", map[string]any{"text": "again"}); after != sees {
		saw += ", then " + after
	}
	t.Logf("the server is back after %v", time.Since(began))
	stop()
	c.Close()
	return saw, b.left(2*long, "file /tenon/")
}

// until calls a tool until there is a result: a gateway tries a server again that
// has failed.
func until(t *testing.T, c *client.Client, tool string, args map[string]any) (saw string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < long; time.Sleep(50 * time.Millisecond) {
		if saw, _ = call(t, c, tool, args); saw == sees {
			break
		}
	}
	return saw
}

// neighbour calls another server of the gateway until stop is called.
func neighbour(t *testing.T, c *client.Client) (stop func()) {
	return repeatedly(t, c, func() {
		if saw, text := call(t, c, "calc__add", map[string]any{"a": 1, "b": 2}); saw != sees {
			t.Errorf("another client of another server sees %s: %s", saw, text)
		}
	})
}
