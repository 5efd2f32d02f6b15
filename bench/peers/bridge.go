package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

// bridgeArgs returns the arguments with which a program serves a program that speaks
// stdio at an address.
func bridgeArgs(p *peer, addr, program string) ([]string, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	switch p.name {
	case "supergateway":
		return []string{"--stdio", program, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none"}, nil
	case "mcp-proxy":
		return []string{"--host", "127.0.0.1", "--port", port, "--server", "stream", "--", program}, nil
	}
	return []string{"gateway", "--addr", addr, "--names", "plain", "--log-level", "error"}, nil
}

// bridge measures a program that serves a stdio server over HTTP. The costs of the
// program and those of the servers that it starts are apart.
func bridge(p *peer, o *options) (sample, error) {
	far, err := filepath.Abs(named("floorscan").argv[0])
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	args, err := bridgeArgs(p, addr, far)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`{"mcpServers": {"up": {"command": %q}}}`, far)
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	r := &process{dir: dir, addr: addr, children: true}
	r.cmd = p.command(args...)
	r.cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+dir)
	if err := r.launch(); err != nil {
		return nil, err
	}
	defer r.stop()
	l := &httpLoad{addr: addr, work: add}
	defer l.close()
	if err := l.open(8); err != nil {
		return nil, err
	}
	return underLoad(r, p, o, 0, l.run)
}

// launch starts a program that listens at an address and waits until it does.
func (r *process) launch() error {
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		return err
	}
	r.end = time.AfterFunc(3*time.Minute, func() { r.cmd.Process.Kill() })
	c, err := reach("tcp", r.addr)
	if err != nil {
		r.stop()
		return err
	}
	return c.Close()
}

// update replaces the tables of what was measured in benchmarks.md, and leaves the
// rest of the page as it is.
func (rep *report) update(docs string) error {
	file := filepath.Join(docs, "benchmarks.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := strings.TrimRight(string(raw), "\n") + "\n"
	for _, r := range rep.all {
		var b strings.Builder
		r.table(&b)
		fmt.Fprintf(&b, "\nMeasured apart from the rest of this page, on %s.\n", rep.began.UTC().Format("2006-01-02 15:04 UTC"))
		text = replaceSection(text, "\n### "+r.scenario.title+"\n", b.String())
		for _, p := range r.peers {
			if line := fmt.Sprintf("- **%s** %s\n", p.name, p.what); !strings.Contains(text, "- **"+p.name+"** ") {
				text = strings.Replace(text, "\nHow: ", line+"\nHow: ", 1)
			}
		}
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// replaceSection replaces the section of a page with a heading, or adds it at the
// end.
func replaceSection(text, heading, section string) string {
	before, rest, found := strings.Cut(text, heading)
	if !found {
		return text + section
	}
	if next := strings.Index(rest, "\n### "); next >= 0 {
		return before + section + rest[next:]
	}
	return before + section
}

// childrenTime is how much processor time the descendants of a process have used.
func childrenTime(pid int) (all time.Duration) {
	for _, child := range children(pid) {
		all += cpuTime(child) + childrenTime(child)
	}
	return all
}
