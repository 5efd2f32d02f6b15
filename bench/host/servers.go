package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm/script"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// player plays what the program itself is started as.
func player(as string) error {
	switch as {
	case "good":
		return stdio.Serve(context.Background(), tools(), nil)
	case "mute": // reads, and never answers
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "stubborn": // a server that ignores the end of its input and polite signals
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		for {
			time.Sleep(time.Hour)
		}
	case "host":
		return doomed()
	}
	return fmt.Errorf("there is nothing to play as %s", as)
}

func tools() *server.Server {
	s := server.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(s, "hello", "Say hello", func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil }, nil)
	server.AddTool(s, "hang", "Wait until it is stopped", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "begun")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "stopped")
		return "", ctx.Err()
	}, nil)
	return s
}

// entry is a server that is this program.
func entry(name, as string) config.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return config.Server{Name: name, Kind: config.Stdio, Command: self, Args: []string{"-play", as}}
}

// entries are n healthy servers, and one that hangs if that is wanted.
func entries(n int, hang bool) (all []config.Server, healthy []string) {
	for i := range n {
		name := fmt.Sprint("s", i)
		all, healthy = append(all, entry(name, "good")), append(healthy, name)
	}
	if hang {
		all = append(all, entry("hangs", "mute"))
	}
	return all, healthy
}

// open makes a workspace in a folder of its own, with a model that says the lines
// of a script.
func open(servers []config.Server, event func(host.Event), lines ...string) (w *workspace.Workspace, clean func(), err error) {
	dir, err := os.MkdirTemp("", "host-bench-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	if len(lines) == 0 {
		lines = []string{`{"expect":{}}`, `{"text":"ok"}`} // a script must say something
	}
	file := dir + "/script.jsonl"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return nil, remove, err
	}
	model, err := script.Open(file, nil)
	if err != nil {
		return nil, remove, err
	}
	w, err = workspace.Open(workspace.Options{Dir: dir, Servers: servers, Model: model, Event: event,
		Settings: config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}}})
	if err != nil {
		return nil, remove, err
	}
	return w, func() { w.Close(); remove() }, nil
}
