package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/internal/linktest"
)

// stopped is how long a process is stopped, or a link is cut.
const stopped = 2 * time.Second

// A fault happens once a second.
type fault struct {
	name  string
	often int
	do    func(*rand.Rand) error
}

// faults returns the faults of a run.
func (r *run) faults(ctx context.Context) []fault {
	one := func(names ...string) func(*rand.Rand) string {
		return func(p *rand.Rand) string { return names[p.IntN(len(names))] }
	}
	anyServer := one("modern", "legacy", "frail", "gateway-stdio", "restarted-stdio", "gateway-files", "restarted-files", "host-stdio")
	anyChild := one("gateway-stdio", "restarted-stdio", "gateway-files", "restarted-files", "host-stdio")
	anyLink := one("modern", "legacy", "frail", "gateway", "restarted")
	anyGateway := one("gateway", "restarted")
	return []fault{
		{"kill a server over stdio", 15, func(p *rand.Rand) error {
			for _, pid := range playing(r.stats, anyChild(p)) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			return nil
		}},
		{"kill a server over HTTP", 8, func(*rand.Rand) error { return r.restart("frail", syscall.SIGKILL) }},
		{"stop a server for 2 s", 15, func(p *rand.Rand) error {
			for _, pid := range playing(r.stats, anyServer(p)) {
				r.later(ctx, func() { syscall.Kill(pid, syscall.SIGSTOP) }, func() { syscall.Kill(pid, syscall.SIGCONT) })
			}
			return nil
		}},
		{"reset connections", 15, func(p *rand.Rand) error { r.links[anyLink(p)].Reset(); return nil }},
		{"cut connections for 2 s", 10, func(p *rand.Rand) error {
			l := r.links[anyLink(p)]
			r.later(ctx, l.Cut, l.Mend)
			return nil
		}},
		{"garbage before an answer", 10, func(p *rand.Rand) error {
			r.links[anyLink(p)].Garbage("\x00\xff{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n")
			return nil
		}},
		{"garbage at a gateway", 5, func(p *rand.Rand) error {
			go garble(r.links[anyGateway(p)], p.IntN(4))
			return nil
		}},
		{"a slow reader", 10, func(p *rand.Rand) error {
			who := r.principals[p.IntN(len(r.principals))]
			r.wg.Go(func() { slowReader(ctx, who) })
			return nil
		}},
		{"change a configuration", 8, func(p *rand.Rand) error {
			name := anyGateway(p)
			r.configure(filepath.Join(r.dir, name), name, p.IntN(2) == 0)
			return nil
		}},
		{"restart a gateway", 4, func(p *rand.Rand) error {
			return r.restart("restarted", []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[p.IntN(2)])
		}},
	}
}

// later begins something and ends it after 2 s, or when the run ends.
func (r *run) later(ctx context.Context, begin, end func()) {
	begin()
	r.wg.Go(func() {
		sleep(ctx, stopped)
		end()
	})
}

// restart ends a process with a signal and starts it again.
func (r *run) restart(name string, s syscall.Signal) error {
	r.restarting.Lock()
	defer r.restarting.Unlock()
	p := r.processes[name]
	if err := p.end(s); err != nil {
		return err
	}
	return p.start()
}

// inject lets a fault happen each second until ctx ends.
func (r *run) inject(ctx context.Context, seed uint64) {
	all := r.faults(ctx)
	sum := 0
	for _, f := range all {
		sum += f.often
	}
	p := rand.New(rand.NewPCG(seed, 1))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n := p.IntN(sum)
		i := 0
		for ; n >= all[i].often; i++ {
			n -= all[i].often
		}
		own := rand.New(rand.NewPCG(p.Uint64(), 2))
		busy.Go(func() { // a restart takes longer than a second
			if err := all[i].do(own); err != nil {
				r.mu.Lock()
				r.problem("%s: %v", all[i].name, err)
				r.mu.Unlock()
			}
		})
		r.mu.Lock()
		r.injected[all[i].name]++
		r.mu.Unlock()
	}
}

// garble sends bytes that are no request.
func garble(l *linktest.Link, kind int) {
	c, err := net.Dial("tcp", l.Addr)
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	io.WriteString(c, []string{
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":",
		"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		strings.Repeat("x", 100_000),
	}[kind])
	io.Copy(io.Discard, io.LimitReader(c, 4096))
}

// slowReader asks for big results and reads little of them.
func slowReader(ctx context.Context, p *principal) {
	addr := strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"modern__big","arguments":{"text":"%s-slow-%s"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"slow","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, p.name, strings.Repeat("x", 200))
	for range 3 { // one after the other on the connection
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: modern__big\r\nContent-Length: %d\r\n\r\n%s", addr, p.key, len(body), body)
	}
	small := bufio.NewReaderSize(c, 16)
	for range 50 {
		if _, err := small.Peek(1); err != nil {
			return
		}
		small.Discard(16)
		sleep(ctx, 100*time.Millisecond)
	}
}
