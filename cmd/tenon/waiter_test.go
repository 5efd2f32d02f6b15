package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// waiterVar makes the test binary a waiter over stdio; its value is the era, a
// colon and the file of its diary.
const waiterVar = "TENON_TEST_WAITER"

func serveWaiter(word string) {
	only, diary, _ := strings.Cut(word, ":")
	s, note := waiter(diary)
	stdio.Serve(context.Background(), s, &era.ServerOptions{LegacyOnly: only == "legacy", ModernOnly: only == "modern",
		Tap: func(_ jsonrpc.Direction, frame []byte) { noteCancel(frame, note) }})
}

// waiter is a server with a tool that waits until it is cancelled and one that
// takes a moment. It writes a line for each call, and how it ended, to a file.
func waiter(diary string) (s *server.Server, note func(line string)) {
	note = func(line string) {
		f, err := os.OpenFile(diary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, line)
		f.Close()
	}
	s = server.New(mcp.Implementation{Name: "waiter", Version: "1"}, nil)
	server.AddTool(s, "wait", "Wait", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		note("called")
		<-ctx.Done()
		note("cancelled")
		return "", ctx.Err()
	}, nil)
	server.AddTool(s, "finish", "Take a moment", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		note("called")
		select {
		case <-ctx.Done():
			note("cancelled")
		case <-time.After(50 * time.Millisecond):
			note("finished")
		}
		return "all parcels counted", ctx.Err()
	}, nil)
	return s, note
}

// noteCancel notes the id of a tool call, and of a request that a notification
// cancels.
func noteCancel(message []byte, note func(line string)) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ RequestID json.RawMessage }
	}
	switch err := json.Unmarshal(message, &m); {
	case err != nil:
	case m.Method == "tools/call":
		note(fmt.Sprint("request ", os.Getpid(), " ", string(m.ID)))
	case m.Method == "notifications/cancelled":
		note(fmt.Sprint("told of ", os.Getpid(), " ", string(m.Params.RequestID)))
	}
}
