package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// A peer is a program that is measured.
type peer struct {
	name   string
	what   string
	script string // of a TypeScript program, which Node runs
	legacy bool   // does not speak 2026-07-28
	floor  bool

	onlyStart   bool // measured only in how it starts
	onlyGateway bool // measured only as a gateway or bridge; it does not tell its counters
	onlyBridge  bool // measured only as a bridge from stdio to HTTP

	argv []string
}

var peers = []*peer{
	{name: "tenon", what: "Tenon, this working copy"},
	{name: "tenonstdio", what: "Tenon in a program that serves stdio only, and so does not link net/http", onlyStart: true},
	{name: "tenongateway", what: "`tenon gateway` with a router, rules, limits, an audit log and pins", onlyGateway: true},
	{name: "supergateway", what: "supergateway 4.0.0 on Node 22.23.3, with sessions (`--stateful`)", script: "../bridges/node_modules/supergateway/dist/index.js", onlyBridge: true},
	{name: "mcp-proxy", what: "mcp-proxy 6.7.19 (npm) on Node 22.23.3", script: "../bridges/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs", onlyBridge: true},
	{name: "gosdk", what: "github.com/modelcontextprotocol/go-sdk v1.8.0 (the official SDK)"},
	{name: "mcpgo", what: "github.com/mark3labs/mcp-go v1.2.1, with its defaults, which check neither arguments nor results"},
	{name: "ts1", what: "@modelcontextprotocol/sdk 1.32.2 on Node 22.23.3", script: "ts1.mjs", legacy: true},
	{name: "ts2", what: "@modelcontextprotocol/server and client 2.4.0 on Node 22.23.3", script: "ts2.mjs"},
	{name: "floorjson", what: "the floor with encoding/json: net/http or a loop over lines, types of its own, no checks", floor: true},
	{name: "floorscan", what: "the floor with a byte scanner: net/http or a loop over lines, lists encoded once, no checks", floor: true},
	{name: "empty", what: "a Go program that reads one line and writes one", floor: true, onlyStart: true},
}

func named(name string) *peer {
	for _, p := range peers {
		if p.name == name {
			return p
		}
	}
	panic("no peer is called " + name)
}

// build compiles the Go programs into dir and finds Node for the others. A
// peer that cannot be run is left without a command line.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "./peers/servers/...")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	cmd = exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "tenongateway"), "./cmd/tenon")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "..", os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	node := filepath.Join("peers", "node", "node_modules", ".bin", "node")
	_, missing := os.Stat(node)
	for _, p := range peers {
		script := filepath.Join("peers", "node", p.script)
		if p.script == "" {
			p.argv = []string{filepath.Join(dir, p.name)}
		} else if _, err := os.Stat(script); err == nil && missing == nil {
			p.argv = []string{node, "--expose-gc", script}
		}
	}
	return nil
}

// servesAll reports whether a peer can be measured in more than one way.
func (p *peer) servesAll() bool { return !p.onlyStart && !p.onlyGateway && !p.onlyBridge }

func (p *peer) command(args ...string) *exec.Cmd {
	return exec.Command(p.argv[0], append(p.argv[1:len(p.argv):len(p.argv)], args...)...)
}
