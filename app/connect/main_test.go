package connect

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// modeVar makes the test binary play a server; see modes.
const modeVar = "TENON_CONNECT_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVar); mode != "" {
		play, ok := modes[mode]
		if !ok {
			panic("no such mode: " + mode)
		}
		play()
		os.Exit(0)
	}
	leaktest.Main(m)
}

// modes are the servers that the test binary can play.
var modes = map[string]func(){
	"good":  func() { serve(nil) },
	"noise": func() { serve(func(s jsonrpc.Stream) jsonrpc.Stream { return noisy{s} }) },
	"twice": func() { serve(func(s jsonrpc.Stream) jsonrpc.Stream { return twice{s} }) },
	"flood": playFlood,
	"mute":  playMute,
	"dies":  playDies,
	"once":  playOnce,
	"old":   playOld,
}

// serve is a server that speaks MCP, over a stream that may do harm.
func serve(harm func(jsonrpc.Stream) jsonrpc.Stream) {
	served, err := era.NewServer(tools(), nil)
	if err != nil {
		panic(err)
	}
	stream, err := stdio.Standard(0)
	if err != nil {
		panic(err)
	}
	if harm != nil {
		stream = harm(stream)
	}
	served.ServeStream(context.Background(), stream)
}

// tools is a server whose tools behave badly in various ways.
func tools() *server.Server {
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "echo", "Say it again", func(_ context.Context, _ *mcp.Call, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	}, nil)
	server.AddTool(s, "crash", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "out of ideas")
		os.Exit(7)
		return "", nil
	}, nil)
	server.AddTool(s, "hang", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "hanging")
		<-ctx.Done()
		return "", ctx.Err()
	}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		panic(err)
	}
	server.AddTool(s, "task", "", func(ctx context.Context, _ *mcp.Call, in struct {
		Text string `json:"text"`
		Hang bool   `json:"hang,omitzero"`
	}) (string, error) {
		if in.Hang {
			<-ctx.Done()
		}
		return in.Text, ctx.Err()
	}, m.Tool(tasks.Required, nil))
	server.AddTool(s, "grow", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		server.AddTool(s, "grown", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		return "", nil
	}, nil)
	return s
}

// noisy prints around every message what a careless program prints.
type noisy struct{ jsonrpc.Stream }

func (n noisy) Write(frame []byte) error {
	for _, line := range []string{"Server listening on stdio\n", "{not json}\n", "\x1b[31mdebug\x1b[0m\n"} {
		if err := n.Stream.Write([]byte(line)); err != nil {
			return err
		}
	}
	return n.Stream.Write(frame)
}

// twice sends every message twice.
type twice struct{ jsonrpc.Stream }

func (s twice) Write(frame []byte) error {
	again := slices.Clone(frame)
	if err := s.Stream.Write(frame); err != nil {
		return err
	}
	return s.Stream.Write(again)
}

// playFlood serves, and writes to its standard error as fast as it can.
func playFlood() {
	go func() {
		for i := 0; ; i++ {
			fmt.Fprintln(os.Stderr, "flood", i, strings.Repeat("x", 500))
		}
	}()
	serve(nil)
}

// playMute reads and never answers, and goes in good order.
func playMute() {
	fmt.Fprintln(os.Stderr, "waiting for a licence")
	io.Copy(io.Discard, os.Stdin)
}

func playDies() {
	fmt.Fprintln(os.Stderr, "no config file")
	os.Exit(3)
}

// playOnce works only if the file of its name is not there yet.
func playOnce() {
	f, err := os.OpenFile(os.Getenv("ONCE"), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
		fmt.Fprintln(os.Stderr, "not today")
		os.Exit(1)
	}
	serve(nil)
}

// playOld ends when it is asked something that it does not know.
func playOld() {
	serve(func(s jsonrpc.Stream) jsonrpc.Stream { return brittle{s} })
}

type brittle struct{ jsonrpc.Stream }

func (b brittle) Read() ([]byte, error) {
	frame, err := b.Stream.Read()
	if strings.Contains(string(frame), mcp.MethodDiscover) {
		os.Exit(9)
	}
	return frame, err
}

// entry is an entry that runs this test binary in a mode.
func entry(t *testing.T, mode string) config.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{Name: "x", Kind: config.Stdio, Command: self, Env: map[string]string{
		modeVar: mode, "GOCOVERDIR": t.TempDir(), "GORACE": "atexit_sleep_ms=0",
	}}
}

// A watched server is one with everything that was told of it.
type watched struct {
	*Server
	mu     sync.Mutex
	states []State
}

// start starts a server that is closed with the test.
func start(t *testing.T, e config.Server, change func(*Options)) *watched {
	t.Helper()
	w := &watched{}
	o := &Options{Changed: func(s State) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.states = append(w.states, s)
	}}
	if change != nil {
		change(o)
	}
	w.Server = New(e, o)
	t.Cleanup(func() { w.Close() })
	return w
}

// phases lists what the server went through.
func (w *watched) phases() []Phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Phase
	for _, s := range w.states {
		all = append(all, s.Phase)
	}
	return all
}

// told returns the last state of a phase that was told.
func (w *watched) told(p Phase) *State {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range slices.Backward(w.states) {
		if s.Phase == p {
			return &s
		}
	}
	return nil
}

// long bounds every wait for a process in these tests.
const long = time.Minute

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
