package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/internal/freeport"
)

// A process is a running server.
type process struct {
	cmd   *exec.Cmd
	addr  string // over HTTP
	in    io.WriteCloser
	out   *bufio.Reader
	stats *bufio.ReadWriter
	dir   string
	// children has the processor time of the processes that it starts measured, too.
	children bool
	end      *time.Timer // a server that hangs costs its measurement and not the run
}

// start starts a program of a peer and waits until it can be asked. With serve
// it listens at an address, otherwise it reads its stdin.
func start(p *peer, serve bool, args ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	r := &process{dir: dir}
	if serve {
		if r.addr, err = freeport.Addr(); err != nil {
			return nil, err
		}
		args = append(args, "-http", r.addr)
	}
	socket := filepath.Join(dir, "stats")
	r.cmd = p.command(args...)
	r.cmd.Env = append(os.Environ(), "BENCH_STATS="+socket)
	r.cmd.Stderr = os.Stderr
	if !serve {
		if r.in, err = r.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := r.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		r.out = bufio.NewReaderSize(out, 256<<10)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.end = time.AfterFunc(3*time.Minute, func() { r.cmd.Process.Kill() })
	c, err := reach("unix", socket)
	if err == nil {
		r.stats = bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
		if serve {
			if c, err = reach("tcp", r.addr); err == nil {
				c.Close()
			}
		}
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// gatewayConfig is the configuration of the gateway that is measured: everything
// that stands between a client and a server is on.
const gatewayConfig = `{
  "mcpServers": {"up": {"type": "http", "url": "http://%s/mcp"}},
  "gateway": {
    "tools": {"up__add": {"name": "add"}},
    "rules": [{"effect": "allow", "server": "up"}, {"effect": "deny", "tool": "delete_*"}],
    "limits": [{"tool": "*", "rate": "1000000/s", "concurrency": 1000, "per": "tool"}],
    "pins": {"file": "pins.json"},
    "audit": {"file": "audit.jsonl"}
  }
}`

// startGateway starts tenon gateway before a server.
func startGateway(p *peer, before *process, env ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	r := &process{dir: dir}
	if r.addr, err = freeport.Addr(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), fmt.Appendf(nil, gatewayConfig, before.addr), 0o600); err != nil {
		return nil, err
	}
	r.cmd = p.command("gateway", "--addr", r.addr, "--log-level", "error")
	r.cmd.Env = append(append(os.Environ(), "TENON_CONFIG_DIR="+dir), env...)
	r.cmd.Dir = dir
	return r, r.launch()
}

func (r *process) stop() {
	r.end.Stop()
	if r.in != nil {
		r.in.Close()
	}
	r.cmd.Process.Kill()
	r.cmd.Wait()
	os.RemoveAll(r.dir)
}

// counters asks the process for its counters, after it has collected its
// garbage if gc is set.
func (r *process) counters(gc bool) (s side.Stats, err error) {
	if r.stats == nil {
		return s, nil
	}
	line := "now\n"
	if gc {
		line = "gc\n"
	}
	if _, err = r.stats.WriteString(line); err == nil {
		err = r.stats.Flush()
	}
	if err == nil {
		line, err = r.stats.ReadString('\n')
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), &s)
	}
	return s, err
}

// settled collects garbage until the memory stands still, and returns it in
// KiB, with the number of goroutines.
func (r *process) settled() (rss float64, goroutines int, err error) {
	for range 4 {
		s, err := r.counters(true)
		if err != nil {
			return 0, 0, err
		}
		goroutines = s.Goroutines
		if r.stats == nil {
			time.Sleep(time.Second)
		}
		time.Sleep(150 * time.Millisecond)
	}
	return status(r.cmd.Process.Pid, "VmRSS"), goroutines, nil
}

func reach(network, addr string) (net.Conn, error) {
	var err error
	for range 2000 {
		var c net.Conn
		if c, err = net.Dial(network, addr); err == nil {
			return c, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("the server did not start: %w", err)
}
