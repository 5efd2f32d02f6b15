package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/wirelog"
)

// TapOptions configure [Tap].
type TapOptions struct {
	// Command is the server's program and its arguments. It gets the
	// environment and the working directory of this process.
	Command []string

	// In and Out lead to the host, Err is where the server's standard error
	// goes. Nil means those of this process.
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Wire logs the messages, if set.
	Wire *wirelog.Wire

	// MaxBytes is the maximum size of the queue before Wire. More is passed
	// on but not logged; the log has an event in its place. 0 means 64 MB.
	MaxBytes int

	// Grace is how long the server may run after ctx has ended, and how long
	// Tap waits for the rest of its output after it has exited. 0 means 2 s.
	Grace time.Duration

	// Signals are passed on to the server. If nil, Tap catches the signals
	// that terminate this process while it runs.
	Signals <-chan os.Signal
}

// An Exit is the exit status of a tapped server.
type Exit struct {
	Code   int       // as in a shell: 128 plus the signal's number if one ended it
	Signal os.Signal // the signal that ended it, or nil
}

// Tap runs a server and copies its standard streams byte for byte between the host
// and the server, and logs them. It returns when the server has exited.
//
//	host → In  → copy → server's standard input
//	host ← Out ← copy ← server's standard output
//	       Err ← copy ← server's standard error
//
// The copies go to a bounded queue and are parsed and logged by another goroutine,
// so neither a slow disk nor an invalid frame delays or changes the traffic. When
// In ends, Tap closes the server's input; when writing to Out fails, it closes the
// server's output; when ctx ends, it closes the server's input and kills the
// server after Grace.
//
// A goroutine that is blocked reading In when the server exits stays until In
// returns data or ends.
func Tap(ctx context.Context, o TapOptions) (Exit, error) {
	if len(o.Command) == 0 {
		return Exit{}, errors.New("there is no command to tap: write it after --")
	}
	o.fill()
	t := &tapped{o: o, notes: newTapQueue(o.Wire, o.MaxBytes)}
	defer t.notes.close()
	if err := t.start(); err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // the path is said already
		}
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

// start starts the server with own pipes, so that the rest of its output can be
// read after its end.
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
			theirs = append(theirs, r, w) // both, until they are assigned
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
			t.cmd.Process.Signal(s) // if it has ended, Wait reports it
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

// drain waits for the rest of the output, at most Grace: a child of the server
// may hold the pipe open.
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

// input copies from the host to the server until one of them closes.
func (t *tapped) input() {
	defer t.endInput()
	t.copy(t.stdin, t.o.In, toServer)
}

// output copies from the server to the host. When the host stops reading, the
// server's end of the pipe is closed, as it would be without a tap.
func (t *tapped) output(from *os.File, to io.Writer, way stream) {
	if t.copy(to, from, way) {
		from.Close()
	}
}

// copy copies chunks. It logs each before it passes it on, so that a request is
// logged before its response. It reports whether the writer failed.
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
