// Tenon is a client, host and server for the Model Context Protocol.
//
// Each file of this package has one command or a few related ones. A command
// reads its flags, calls the packages below app and prints the result.
//
//	main.go      the program: commands, exit codes
//	program.go   what all commands share: flags, streams, the printer
//	target.go    SERVER on the command line -> a live server
//	person.go    questions of servers (elicitation) at the terminal
//	interrupt.go what Ctrl-C does
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

func main() {
	stdio.CloseOnExec() // what this process inherited is not for the servers it starts
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, append(endSignals(), os.Interrupt)...)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, signals: signals, expired: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- p.run(ctx, os.Args[1:]) }()
	os.Exit(p.wait(done, signals, cancel))
}

// endSignals are the signals that end the program in good order. A closed terminal
// sends SIGHUP; under nohup it is ignored, and stays so.
func endSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

func (p *program) printVersion() error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	if out.Format != show.Text {
		return out.Value(map[string]any{"version": version.String(), "commit": version.Commit(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "revisions": mcp.Revisions()})
	}
	_, err = fmt.Fprintf(p.out, "tenon %s (%s %s/%s)\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
