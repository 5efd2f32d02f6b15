// Tenon is the Model Context Protocol in one binary.
//
// This folder is the roof: each file is one command or a few that belong
// together, and none of them does more than read flags, call the floors below
// and show what comes of it.
//
//	main.go      the program: commands, exit codes
//	program.go   what all commands share: flags, streams, the printer
//	target.go    SERVER on the command line -> a live server
//	person.go    questions of servers, answered at the terminal
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenon-mcp/tenon/transport/stdio"
)

func main() {
	stdio.CloseOnExec() // what this process inherited is not for the servers it starts
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
