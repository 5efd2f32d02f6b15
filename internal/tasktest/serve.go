package tasktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// The variables of a server: the time to live of tasks, the lease, and the file
// to which tools append a line when they have an effect.
const (
	TTLVar     = "TASKTEST_TTL"
	LeaseVar   = "TASKTEST_LEASE"
	JournalVar = "TASKTEST_JOURNAL"
)

// input is the arguments of the tools.
type input struct {
	Millis int    `json:"millis"`
	Key    string `json:"key,omitempty"`
}

// Serve serves tools that are tasks over HTTP until the standard input ends, and
// then closes the store. The name of a client is its principal. Every tool works
// for a while and then has an effect: it adds a line to the journal. "work" and
// "ask", which asks twice, must not be repeated; "again" may be.
func Serve(store tasks.Store, closeStore func() error) {
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, &server.Options{Middleware: []mcp.Middleware{named}})
	m, err := tasks.NewManager(s, &tasks.Options{Store: store, TTL: variable(TTLVar), Lease: variable(LeaseVar), PollInterval: 20 * time.Millisecond, MaxTasks: 1 << 20})
	Check(err)
	server.AddTool(s, "work", "Work for a while", func(ctx context.Context, c *mcp.Call, in input) (string, error) {
		server.Progress(c, 1, 2, "half")
		return "worked for " + strconv.Itoa(in.Millis), effect(ctx, "work", in)
	}, m.Tool(tasks.Required, nil))
	yes := true
	server.AddTool(s, "again", "Work for a while, also more than once", func(ctx context.Context, c *mcp.Call, in input) (string, error) {
		server.Progress(c, 1, 2, "half")
		return "worked for " + strconv.Itoa(in.Millis), effect(ctx, "again", in)
	}, m.Tool(tasks.Required, &server.ToolOptions{Annotations: &mcp.ToolAnnotations{IdempotentHint: &yes}}))
	server.AddTool(s, "ask", "Ask twice", func(ctx context.Context, c *mcp.Call, in input) (string, error) {
		var got []string
		for _, key := range []string{"k1", "k2"} {
			f, err := server.Elicit[struct {
				Name string `json:"name"`
			}](c, key, "Name?")
			if err != nil {
				return "", err
			}
			got = append(got, f.Name)
		}
		return "heard " + strings.Join(got, " "), effect(ctx, "ask", in)
	}, m.Tool(tasks.Required, nil))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	Check(streamable.ListenAndServe(ctx, "127.0.0.1:0", s, nil, func(a net.Addr) { fmt.Println("http://" + a.String() + streamable.Path) }))
	Check(s.Close())
	Check(closeStore())
}

// named makes the name of a client its principal.
func named(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Caller.Client == nil {
			return next.Serve(ctx, c)
		}
		copied := *c
		copied.Caller.Principal = &mcp.Principal{ID: c.Caller.Client.Name, Issuer: "test"}
		return next.Serve(ctx, &copied)
	})
}

func variable(name string) time.Duration {
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	Check(err)
	return d
}

// effect works for a while, and then adds a line to the journal.
func effect(ctx context.Context, tool string, in input) error {
	select {
	case <-time.After(time.Duration(in.Millis) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	file := os.Getenv(JournalVar)
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(tool + " " + in.Key + "\n")
	return errors.Join(err, f.Close())
}

// Check ends the process after an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
