package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
)

// child is what the test binary does as a server.
func child(mode string) int {
	switch mode {
	case "echo": // gives back what it is given, in pieces of its own
		r := rand.New(rand.NewPCG(1, 2))
		buf := make([]byte, 100_000)
		for {
			n, err := os.Stdin.Read(buf[:1+r.IntN(len(buf))])
			if _, werr := os.Stdout.Write(buf[:n]); werr != nil {
				return 4
			}
			if err != nil {
				break
			}
		}
		fmt.Fprint(os.Stderr, "echo ends\nwithout a newline")
		return 7
	case "wait": // ends when it is told to by a signal
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, os.Interrupt)
		fmt.Println("ready")
		<-caught
		return 9
	case "deaf": // does not care for the end of its input
		fmt.Println("ready")
		select {}
	case "flood":
		line := strings.Repeat("x", 1000) + "\n"
		for {
			if _, err := os.Stdout.WriteString(line); err != nil {
				return 3
			}
		}
	}
	return 1
}

func tapOptions(t *testing.T, mode string) TapOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("INSPECT_TEST_CHILD", mode)
	return TapOptions{Command: []string{self}, In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
}

// chunks reads a text in random pieces.
type chunks struct {
	text []byte
	r    *rand.Rand
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(len(c.text), 1+c.r.IntN(5000))])
	c.text = c.text[n:]
	return n, nil
}

// oddTraffic is a stream with everything that must not be touched.
func oddTraffic(r *rand.Rand) []byte {
	var b bytes.Buffer
	for i := range 400 {
		switch r.IntN(8) {
		case 0:
			b.WriteString("noise without sense\r\n")
		case 1:
			b.WriteString("\n\r\n \n")
		case 2:
			for range r.IntN(50_000) {
				b.WriteByte(byte(r.Uint32()))
			}
		case 3:
			fmt.Fprintf(&b, "{\"jsonrpc\": \"2.0\",  \"id\": %d, \"method\": \"ping\"}\r\n", i)
		default:
			fmt.Fprintf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i)
		}
	}
	b.WriteString("no newline at the end")
	return b.Bytes()
}

// What passes a tap is the same, byte for byte, in both directions, and all of
// it is written down.
func TestTapChangesNothing(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 0))
		sent := oddTraffic(r)
		var out, errs bytes.Buffer
		l := wirelog.NewLog(nil)
		o := tapOptions(t, "echo")
		o.In, o.Out, o.Err, o.Wire = &chunks{bytes.Clone(sent), r}, &out, &errs, l.Wire("echo")
		exit, err := Tap(t.Context(), o)
		if err != nil || exit.Code != 7 || exit.Signal != nil {
			t.Errorf("it ended with %+v, %v", exit, err)
		}
		if !bytes.Equal(out.Bytes(), sent) {
			t.Errorf("seed %d: %d bytes were sent and %d came back, or others", seed, len(sent), out.Len())
		}
		if errs.String() != "echo ends\nwithout a newline" {
			t.Errorf("standard error is %q", errs.String())
		}
		var lines [][]byte
		for line := range bytes.SplitSeq(sent, []byte("\n")) {
			if line = bytes.TrimSuffix(line, []byte("\r")); len(bytes.TrimSpace(line)) > 0 {
				lines = append(lines, line)
			}
		}
		ms, _ := l.Since(0, 0)
		n := map[speccheck.Dir]int{}
		for _, m := range ms {
			if m.Kind == speccheck.KindEvent || m.Kind == speccheck.KindStderr {
				continue
			}
			if i := n[m.Dir]; i >= len(lines) || !bytes.Equal(m.Frame, lines[i]) {
				t.Fatalf("seed %d: line %d %s was written down as %.100q", seed, i, m.Dir, m.Frame)
			}
			n[m.Dir]++
		}
		if n[speccheck.ToServer] != len(lines) || n[speccheck.FromServer] != len(lines) {
			t.Errorf("of %d lines %v were written down", len(lines), n)
		}
		if last := ms[len(ms)-1]; string(last.Frame) != "ended with code 7" {
			t.Errorf("the last event is %q", last.Frame)
		}
	}
}

type brokenDisk struct{ left int }

func (d *brokenDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// A recording that cannot be written, or not fast enough, costs the recording
// and not the traffic.
func TestTapSurvivesItsDisk(t *testing.T) {
	sent := bytes.Repeat([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n"), 5000)
	run := func(rec *Recorder) {
		t.Helper()
		var out bytes.Buffer
		o := tapOptions(t, "echo")
		o.In, o.Out, o.Wire = bytes.NewReader(sent), &out, wirelog.NewLog(&wirelog.LogOptions{Sinks: []wirelog.Sink{rec}}).Wire("echo")
		if exit, err := Tap(t.Context(), o); err != nil || exit.Code != 7 || !bytes.Equal(out.Bytes(), sent) {
			t.Errorf("it ended with %+v, %v, and %d of %d bytes passed", exit, err, out.Len(), len(sent))
		}
	}
	full := NewRecorder(&brokenDisk{1000}, "echo", nil)
	run(full)
	if err := full.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the full disk gives %v", err)
	}

	pr, pw := io.Pipe() // nobody reads until the traffic has passed
	slow := NewRecorder(pw, "echo", &RecordOptions{MaxBytes: 100_000})
	run(slow)
	var text []byte
	var wg sync.WaitGroup
	wg.Go(func() { text, _ = io.ReadAll(pr) })
	err := slow.Close(t.Context())
	pw.Close()
	wg.Wait()
	if err == nil || !strings.Contains(err.Error(), "too fast") {
		t.Errorf("the slow disk gives %v", err)
	}
	rec, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if last := rec.Messages[len(rec.Messages)-1]; last.Kind != speccheck.KindEvent || !strings.Contains(string(last.Frame), "messages are missing here") {
		t.Errorf("the gap is not in the recording: its last message is %s %q", last.Kind, last.Frame)
	}
}

// ready is a writer that tells when the child has said its first word.
type ready struct {
	once sync.Once
	c    chan struct{}
}

func (r *ready) Write(p []byte) (int, error) {
	r.once.Do(func() { close(r.c) })
	return len(p), nil
}

func TestTapPassesSignalsOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to pass on")
	}
	in, w := io.Pipe()
	defer w.Close()
	up := &ready{c: make(chan struct{})}
	signals := make(chan os.Signal, 1)
	o := tapOptions(t, "wait")
	o.In, o.Out, o.Signals = in, up, signals
	go func() { <-up.c; signals <- os.Interrupt }()
	if exit, err := Tap(t.Context(), o); err != nil || exit.Code != 9 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
}

func TestTapEndsWithItsContext(t *testing.T) {
	up := &ready{c: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	o := tapOptions(t, "deaf")
	o.In, o.Out, o.Grace = in, up, 10*time.Millisecond
	go func() { <-up.c; cancel() }()
	exit, err := Tap(ctx, o)
	if err != nil || runtime.GOOS != "windows" && (exit.Code != 128+9 || exit.Signal != os.Kill) {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
}

type deadHost struct{}

func (deadHost) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestTapTellsTheServerThatTheHostIsGone(t *testing.T) {
	o := tapOptions(t, "flood")
	o.Out = deadHost{}
	exit, err := Tap(t.Context(), o)
	if err != nil || exit.Code == 0 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
}

func TestTapNeedsAProgram(t *testing.T) {
	if _, err := Tap(t.Context(), TapOptions{}); err == nil {
		t.Error("no command was no error")
	}
	if _, err := Tap(t.Context(), TapOptions{Command: []string{"no-such-program-here"}}); err == nil || !strings.Contains(err.Error(), "cannot start no-such-program-here") {
		t.Errorf("the error is %v", err)
	}
}

// What is left out of the log is told there, and lines that are torn by it are
// not taken for whole ones.
func TestTapNotesAreBounded(t *testing.T) {
	l := wirelog.NewLog(nil)
	n := &tapQueue{wire: l.Wire("s"), max: 100, done: make(chan struct{})}
	n.wake.L = &n.mu
	n.add(toServer, []byte("first\nsec"))
	n.add(toServer, bytes.Repeat([]byte("x"), 200)) // too much
	n.mu.Lock()
	n.bytes = 0 // as if it had been taken
	n.mu.Unlock()
	n.add(toServer, []byte("rest of a line\nthird\n"))
	go n.run()
	n.close()
	ms, _ := l.Since(0, 0)
	var got []string
	for _, m := range ms {
		got = append(got, string(m.Frame))
	}
	want := []string{"first", "200 bytes are missing here: they arrived too fast", "third"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("written down was %q, want %q", got, want)
	}
}
