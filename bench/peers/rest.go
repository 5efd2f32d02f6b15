package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/bench/internal/side"
)

// atRest are the scenarios that are not a load on a server.
func atRest() []*scenario {
	return []*scenario{
		{name: "sessions", title: "Idle sessions of 2025-11-25", rest: true, main: "kib", cols: []string{"kib", "goroutines", "count"}, skip: func(p *peer) bool { return p.onlyStart || p.onlyBridge }, run: idleSessions,
			about: "Sessions that were opened and say nothing more. Resident memory after a collection, for each."},
		{name: "streams", title: "Open streams of 2025-11-25", rest: true, main: "kib", cols: []string{"kib", "goroutines", "count"}, skip: notServing, run: streams(false),
			about: "Sessions that listen (GET), beyond what the sessions take. floorjson is a bare stream of net/http that has sent one event; floorscan takes the connection over."},
		{name: "streams-modern", title: "Open streams of 2026-07-28", rest: true, main: "kib", cols: []string{"kib", "goroutines", "count"}, skip: modernOnly, run: streams(true),
			about: "`subscriptions/listen`, open."},
		{name: "start", title: "Start to first answer, stdio", main: "ms", cols: []string{"ms", "startcpu", "size"}, skip: func(p *peer) bool { return p.onlyGateway || p.onlyBridge }, run: starts(0),
			about: "From starting the process to the answer to initialize, with the few tools that all programs have. Size is that of the stripped binary."},
		{name: "start-1000", title: "Start to first answer with 1,000 tools, stdio", main: "ms", cols: []string{"ms", "startcpu"}, skip: func(p *peer) bool { return p.name == "empty" || p.onlyGateway || p.onlyBridge }, run: starts(1000)},
		{name: "client", title: "Calls of a client, HTTP", main: "cpu", cols: []string{"cpu", "wall", "allocs", "bytes"}, skip: func(p *peer) bool { return !p.servesAll() || p.name == "floorscan" }, run: clientCalls,
			about: "Typed calls one after another, each client against the scanning floor; the costs of the client's process. floorjson is net/http and encoding/json."},
		{name: "memory", title: "Client and server in one process", main: "wall", cols: []string{"wall", "cpu", "allocs", "bytes"}, skip: func(p *peer) bool { return p.floor || !p.servesAll() || p.script != "" }, run: inMemory("-memory"),
			about: "Typed calls of 2025-11-25 over each SDK's own transport in memory, the result in a struct again."},
		{name: "memory-modern", title: "Client and server in one process, 2026-07-28", main: "wall", cols: []string{"wall", "cpu", "allocs", "bytes"}, skip: func(p *peer) bool { return p.name != "tenon" }, run: inMemory("-memory", "-modern")},
		{name: "gateway", title: "A gateway hop, HTTP, 32 connections", main: "cpu", cols: loadCols, skip: func(p *peer) bool { return p.script != "" || p.onlyStart || p.name == "floorscan" }, run: gateway,
			about: "A server that hands calls on to the scanning floor; the costs of the hop alone. tenon is a connection served as a Handler, tenongateway the whole command. floorjson is the reverse proxy of net/http/httputil, which reads no message."},
		{name: "bridge", title: "A stdio server over HTTP, 8 sessions", main: "cpu", bases: []string{"tenongateway"}, cols: []string{"cpu", "childcpu", "rate", "p50", "p99", "rss"}, skip: func(p *peer) bool { return !p.onlyGateway && !p.onlyBridge }, run: bridge,
			about: "The scanning floor on stdio, served over HTTP: calls of 2025-11-25 in 8 sessions. The costs of the program, and apart from it those of the processes that it starts: supergateway starts one for each session, the others one in all. tenongateway has `--names plain` and its defaults, so it records each call in the audit log."},
	}
}

// sessionsOf bounds what is asked of Node, whose sessions take long to make.
func sessionsOf(p *peer, n int) int {
	if p.script != "" {
		return min(n, 2000)
	}
	return n
}

func openSessions(addr string, n int) ([]string, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ids := make([]string, n)
	for i := range ids {
		if ids[i], err = c.initialize(addr); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func idleSessions(p *peer, o *options) (sample, error) {
	var r *process
	var err error
	if p.onlyGateway {
		far, errFar := start(named("floorscan"), true)
		if errFar != nil {
			return nil, errFar
		}
		defer far.stop()
		r, err = startGateway(p, far, "GOGC=10") // it cannot be told to collect its garbage
	} else {
		r, err = start(p, true)
	}
	if err != nil {
		return nil, err
	}
	defer r.stop()
	if _, err := openSessions(r.addr, 50); err != nil { // what the first ones bring with them is not theirs
		return nil, err
	}
	n := sessionsOf(p, o.sessions)
	return growth(r, p, n, func() error { _, err := openSessions(r.addr, n); return err })
}

// growth is what n things that f makes take, each.
func growth(r *process, p *peer, n int, f func() error) (sample, error) {
	before, g, err := r.settled()
	if err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	after, gAfter, err := r.settled()
	s := sample{"kib": (after - before) / float64(n), "count": float64(n)}
	if r.stats != nil && p.script == "" {
		s["goroutines"] = float64(gAfter-g) / float64(n)
	}
	return s, err
}

func streams(modern bool) func(p *peer, o *options) (sample, error) {
	return func(p *peer, o *options) (sample, error) {
		args := []string{"-sse"}
		if modern {
			args = append(args, "-modern")
		}
		r, err := start(p, true, args...)
		if err != nil {
			return nil, err
		}
		defer r.stop()
		ids := make([]string, sessionsOf(p, o.streams))
		if !modern {
			if ids, err = openSessions(r.addr, len(ids)); err != nil {
				return nil, err
			}
		}
		var open []*conn
		defer func() {
			for _, c := range open {
				c.Close()
			}
		}()
		return growth(r, p, len(ids), func() error {
			for _, id := range ids {
				c, err := listen(r.addr, id)
				if err != nil {
					return err
				}
				open = append(open, c)
			}
			return nil
		})
	}
}

// listen opens a stream: that of a session, or one of 2026-07-28.
func listen(addr, session string) (*conn, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	c.r = bufio.NewReaderSize(c.Conn, 512)
	if session != "" {
		_, err = fmt.Fprintf(c, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n\r\n", addr, session)
	} else {
		_, err = c.Write(post(addr, []byte(hearBody), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"))
	}
	if err != nil {
		return nil, err
	}
	line, err := c.r.ReadString('\n')
	if err == nil && !strings.Contains(line, " 200") {
		err = fmt.Errorf("the stream was refused: %s", strings.TrimSpace(line))
	}
	return c, err
}

func starts(tools int) func(p *peer, o *options) (sample, error) {
	return func(p *peer, o *options) (sample, error) {
		var wall, cpu []float64
		n := o.starts
		if p.script != "" {
			n = min(n, 3)
		}
		for range n {
			var args []string
			if p.name != "empty" && tools > 0 {
				args = []string{"-tools", strconv.Itoa(tools)}
			}
			w, c, err := firstAnswer(p.command(args...))
			if err != nil {
				return nil, err
			}
			wall, cpu = append(wall, w), append(cpu, c)
		}
		s := sample{"ms": median(wall), "startcpu": median(cpu)}
		if info, err := os.Stat(p.argv[0]); err == nil && p.script == "" {
			s["size"] = float64(info.Size()) / (1 << 20)
		}
		return s, nil
	}
}

// firstAnswer starts a program and returns how many milliseconds went by until
// it had answered, and how many of the processor that took.
func firstAnswer(cmd *exec.Cmd) (wall, cpu float64, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	_, err = io.WriteString(in, initBody+"\n")
	var line string
	if err == nil {
		line, err = bufio.NewReaderSize(out, 64<<10).ReadString('\n')
	}
	took := time.Since(begin)
	spent := cpuTime(cmd.Process.Pid)
	cmd.Process.Kill()
	in.Close()
	cmd.Wait()
	if err == nil && !strings.Contains(line, "serverInfo") {
		err = fmt.Errorf("unexpected answer: %.300s", line)
	}
	return float64(took) / 1e6, float64(spent) / 1e6, err
}

func clientCalls(p *peer, o *options) (sample, error) {
	r, err := start(named("floorscan"), true)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	return cost(p, o, "-call", "http://"+r.addr+"/mcp", "-modern")
}

func inMemory(args ...string) func(p *peer, o *options) (sample, error) {
	return func(p *peer, o *options) (sample, error) { return cost(p, o, args...) }
}

// cost runs a client, which says itself what its calls have cost.
func cost(p *peer, o *options, args ...string) (sample, error) {
	cmd := p.command(slices.Concat(args, []string{"-n", strconv.Itoa(o.calls)})...)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var c side.Cost
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	s := sample{"cpu": c.CPU, "wall": c.Wall}
	if p.script == "" {
		s["allocs"], s["bytes"] = c.Allocs, c.Bytes
	}
	return s, nil
}

func gateway(p *peer, o *options) (sample, error) {
	far, err := start(named("floorscan"), true)
	if err != nil {
		return nil, err
	}
	defer far.stop()
	var r *process
	if p.onlyGateway {
		r, err = startGateway(p, far)
	} else {
		r, err = start(p, true, "-upstream", "http://"+far.addr+"/mcp")
	}
	if err != nil {
		return nil, err
	}
	defer r.stop()
	l := &httpLoad{addr: r.addr, work: add}
	defer l.close()
	if err := l.open(32); err != nil {
		return nil, err
	}
	return underLoad(r, p, o, 0, l.run)
}
