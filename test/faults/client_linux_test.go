package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// clientRole is a client, in a process of its own, of a faulty server.
var clientRole = role{
	name: "client", title: "A client of a faulty server", run: atClient,
	rows: []row{
		{killed, "the server is killed before it answers", same(fails), true},
		{hangs, "the server hangs", same(timesOut), true},
		{halfOpen, "the network drops everything", []cell{never(pipesOnly), {sees: timesOut}, {sees: timesOut}, {sees: timesOut}}, true},
		{slowReader, "the server reads slowly", same(sees), true},
		{slowWriter, "the server sends its answer a byte at a time", same(sees), true},
		{garbage, "the server sends garbage before its answer", []cell{{sees: sees}, {sees: sees}, {sees: fails}, {sees: fails}}, true},
		{truncated, "the server sends half of its answer and ends", same(fails), true},
		{duplicate, "the server sends its answer twice", same(sees), true},
		{reordered, "the server answers calls in another order", []cell{{sees: eachSees}, {sees: eachSees}, never(ownAnswer), {sees: eachSees}}, true},
		{clockJump, "the clock of the client jumps by hours, both ways", same(sees), false},
		{diskFull, "the disk of the client is full", same(sees), true},
		{noDescriptors, "the client is out of descriptors", same(fails), true},
	},
}

// An outcome is what the client says about a command, in JSON.
type outcome struct {
	Saw   string `json:"saw"`
	Error string `json:"error,omitempty"`
}

// playClient is a client that does what standard input says: dial, call, both,
// close. It ends with its input.
func playClient(args []string) {
	transport, at, limit := args[0], args[1], args[2]
	wait, err := time.ParseDuration(limit)
	if err != nil {
		panic(err)
	}
	var d mcp.Dialer
	if transport == overStdio {
		d = &stdio.Command{Path: at, Env: map[string]string{roleVariable: "relay " + args[3], cellVariable: os.Getenv(cellVariable)}}
	} else {
		d = dialer(transport, at, nil)
	}
	var c *client.Client
	say := func(saw string, err error) {
		o := outcome{Saw: saw}
		if err != nil {
			o.Error = err.Error()
		}
		raw, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(raw))
	}
	one := func(in string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*long)
		defer cancel()
		out, err := client.Call[text](ctx, c, "echo", text{in}, nil)
		switch {
		case err != nil && strings.Contains(err.Error(), "for "+limit):
			return timesOut, err
		case err != nil:
			return fails, err
		case out.Text != in:
			return "the wrong result", nil
		}
		return sees, nil
	}
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		switch commands.Text() {
		case "dial":
			ctx, cancel := context.WithTimeout(context.Background(), 2*long)
			next, err := client.Dial(ctx, d, &client.Options{IdleTimeout: wait})
			cancel()
			if err != nil {
				say(fails, err)
				continue
			}
			c = next
			say(sees, nil)
		case "call":
			say(one(mark))
		case "call long":
			say(one(mark + strings.Repeat("x", 1<<20)))
		case "call again":
			say(one("again"))
		case "both":
			second := make(chan string)
			go func() {
				saw, _ := one("later")
				second <- saw
			}()
			first, err := one(mark)
			if other := <-second; first == sees && other == sees {
				first = eachSees
			} else if first == sees {
				first = other + " for the other call"
			}
			say(first, err)
		case "close":
			c.Close()
			say(sees, nil)
		default:
			say("the start", nil)
		}
	}
}

// atClient runs one cell.
func atClient(t *testing.T, transport, fault string) (saw string, left []string) {
	home := t.TempDir()
	var ck *clock
	switch fault {
	case clockJump:
		ck = newClock(t)
	case diskFull:
		home = small(t, 256)
		fill(t, home)
	}
	f := newFaulty(t, transport, fault)
	p := prepare(t, home, ck, peer(t, ck))
	at := f.address
	if transport == overStdio {
		at = f.command
	}
	p.cmd.Env = append(p.cmd.Env, fmt.Sprintf("%s=client %s %s %s %s", roleVariable, transport, at, timeout(fault), fault))
	p.start()
	answers := bufio.NewReader(p.stdout)
	do := func(command string) outcome {
		t.Helper()
		if _, err := fmt.Fprintln(p.stdin, command); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadBytes('\n')
		var o outcome
		if err == nil {
			err = json.Unmarshal(bytes.TrimSpace(line), &o)
		}
		if err != nil {
			t.Fatalf("%s: %v %s", command, err, line)
		}
		t.Logf("%s: %s %s", command, o.Saw, o.Error)
		return o
	}
	do("start") // it handles signals from here on
	b := p.measure()
	if fault == noDescriptors {
		free := p.descriptors(0)
		saw = do("dial").Saw
		free()
	}
	if again := do("dial").Saw; again != sees {
		return again + " when connecting", nil
	}
	switch fault {
	case reordered:
		saw = do("both").Saw
	case slowReader:
		saw = do("call long").Saw
	case noDescriptors:
		if after := do("call").Saw; after != sees {
			saw += ", then " + after
		}
	case clockJump:
		ck.set(t, time.Hour)
		saw = do("call").Saw
		ck.set(t, -2*time.Hour)
	default:
		saw = do("call").Saw
	}
	if saw == sees || saw == eachSees { // and the connection goes on
		if after := do("call again").Saw; after != sees {
			saw += ", then " + after
		}
	}
	do("close")
	left = b.left(long)
	p.stdin.Close()
	if code := p.ends(); code != 0 {
		left = append(left, fmt.Sprintf("the client ended with %d", code))
	}
	return saw, left
}
