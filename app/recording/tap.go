package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/wirelog"
)

// TapOptions say what [Tap] sits between.
type TapOptions struct {
	// Command is the server's program and its arguments. It gets the
	// environment and the working directory of this process.
	Command []string

	// In and Out lead to the host, Err is where the server's standard error
	// goes. Nil means those of this process.
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Wire writes down what passes; nil means that nobody does.
	Wire *wirelog.Wire

	// MaxBytes is how much may wait to be written down. More is left out of
	// the log, with an event that says so; it passes all the same. 0 means
	// 64 MB.
	MaxBytes int

	// Grace is how long the server may take to end after ctx has ended, and
	// how long its output is still awaited after it has ended. 0 means 2 s.
	Grace time.Duration

	// Signals are passed on to the server. Nil catches those that ask this
	// process to end, for the time of the call.
	Signals <-chan os.Signal
}

// An Exit is how a server that was tapped has ended.
type Exit struct {
	Code   int       // as a shell gives it: 128 and the signal's number if one ended it
	Signal os.Signal // what ended it; nil if it ended by itself
}

// Tap runs a server between a host and this process and copies what passes,
// byte for byte, in both directions; what passes is also written down. It
// returns when the server has ended. The journey of the bytes:
//
//	host → In  → note → server's standard input
//	host ← Out ← note ← server's standard output
//	       Err ← note ← server's standard error
//
// A note is a copy that goes to a bounded queue: reading, judging and writing
// down happens elsewhere, so neither a slow disk nor a strange frame can hold up
// or change the traffic. When In ends, the server's input is closed; when Out
// can no longer be written, the server finds its output closed; when ctx ends,
// the server's input is closed, and after Grace the server is killed.
//
// If In is read by a goroutine that waits when the server ends, it stays until
// In gives something or ends: In of a process is left alone with its end.
func Tap(ctx context.Context, o TapOptions) (Exit, error) {
	if len(o.Command) == 0 {
		return Exit{}, errors.New("there is no command to tap: write it after --")
	}
	o.fill()
	t := &tapped{o: o, notes: newTapQueue(o.Wire, o.MaxBytes)}
	defer t.notes.close()
	if err := t.start(); err != nil {
		return Exit{}, fmt.Errorf("cannot start %s: %w", o.Command[0], err)
	}
	return t.run(ctx)
}

func (o *TapOptions) fill() {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
}

type tapped struct {
	o     TapOptions
	notes *tapQueue
	cmd   *exec.Cmd

	stdin          *os.File // we write
	stdout, stderr *os.File // we read
	closeIn        sync.Once
	copies         sync.WaitGroup
}

// start starts the server with three pipes that are ours, so that waiting for
// the process and reading what it left behind are two things.
func (t *tapped) start() error {
	cmd := exec.Command(t.o.Command[0], t.o.Command[1:]...)
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	open := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			theirs = append(theirs, r, w) // until it is known which end is whose
		}
		return r, w, err
	}
	in, ours, err := open()
	if err != nil {
		return err
	}
	out, outW, err := open()
	if err != nil {
		return err
	}
	errs, errW, err := open()
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, outW, errW
	if err := cmd.Start(); err != nil {
		return err
	}
	theirs = []*os.File{in, outW, errW}
	t.cmd, t.stdin, t.stdout, t.stderr = cmd, ours, out, errs
	t.notes.event("started " + t.o.Command[0])
	return nil
}

func (t *tapped) run(ctx context.Context) (Exit, error) {
	signals, stop := t.o.Signals, func() {}
	if signals == nil {
		signals, stop = endings(t.o.In)
	}
	defer stop()
	go t.input() // ends with In
	t.copies.Go(func() { t.output(t.stdout, t.o.Out, fromServer) })
	t.copies.Go(func() { t.output(t.stderr, t.o.Err, fromStderr) })

	ended := make(chan error, 1)
	go func() { ended <- t.cmd.Wait() }()
	var err error
	var kill <-chan time.Time
	over := ctx.Done()
	for waiting := true; waiting; {
		select {
		case err = <-ended:
			waiting = false
		case s := <-signals:
			t.notes.event("passed on: " + s.String())
			t.cmd.Process.Signal(s) // it may have ended: then Wait tells
		case <-over:
			over = nil
			t.endInput()
			timer := time.NewTimer(t.o.Grace)
			defer timer.Stop()
			kill = timer.C
		case <-kill:
			t.cmd.Process.Kill()
		}
	}
	t.drain()
	exit, err := exitOf(t.cmd, err)
	t.notes.event(exit.String())
	return exit, err
}

// drain waits for the rest of the output. Something that the server started may
// hold the pipe open for longer than anyone wants to wait.
func (t *tapped) drain() {
	timer := time.AfterFunc(t.o.Grace, func() {
		t.stdout.SetReadDeadline(time.Now())
		t.stderr.SetReadDeadline(time.Now())
	})
	t.copies.Wait()
	timer.Stop()
	t.stdout.Close()
	t.stderr.Close()
	t.endInput()
}

func (t *tapped) endInput() { t.closeIn.Do(func() { t.stdin.Close() }) }

// input copies from the host to the server until one of them is gone.
func (t *tapped) input() {
	defer t.endInput()
	t.copy(t.stdin, t.o.In, toServer)
}

// output copies from the server to the host. When the host no longer takes it,
// the server's end of the pipe is closed, as it would be without a tap.
func (t *tapped) output(from *os.File, to io.Writer, way stream) {
	if t.copy(to, from, way) {
		from.Close()
	}
}

// copy copies chunks as they come. It notes each before it passes it on, so that
// a request is noted before its answer. It reports whether the writer failed.
func (t *tapped) copy(to io.Writer, from io.Reader, way stream) (full bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			t.notes.add(way, buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				return true
			}
		}
		if err != nil {
			t.notes.add(way, nil)
			return false
		}
	}
}

func exitOf(cmd *exec.Cmd, err error) (Exit, error) {
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return Exit{Code: 1}, err
	}
	if s := endedBy(cmd.ProcessState); s != nil {
		return Exit{Code: 128 + signalNumber(s), Signal: s}, nil
	}
	return Exit{Code: cmd.ProcessState.ExitCode()}, nil
}

func (e Exit) String() string {
	if e.Signal != nil {
		return "ended by the signal: " + e.Signal.String()
	}
	return fmt.Sprintf("ended with code %d", e.Code)
}
