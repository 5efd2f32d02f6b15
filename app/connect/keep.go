package connect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/restart"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A link is one connection of any kind.
type link interface {
	mcp.Handler
	restart.Process
	Revision() mcp.Revision
	pid() int
	lastWords() string
}

// connect makes one connection, if the user approved the server as it is now. It
// remembers the revision of the server, and forgets it if connecting fails. The
// state is Ready before the keeper returns the connection.
func (s *Server) connect(ctx context.Context) (link, error) {
	var watch Watcher = noWatcher{}
	if s.opts.Watch != nil {
		watch = s.opts.Watch(s.entry.Name)
	}
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	var l link
	err := s.entry.MayStart()
	switch kind := s.entry.Kind; {
	case err != nil:
	case kind == config.Stdio:
		l, err = s.program(ctx, known, watch)
	case kind == config.HTTP:
		l, err = s.web(ctx, known, watch)
	case kind == config.SSE:
		l, err = s.oldWeb(ctx, watch)
	case kind == config.Builtin:
		l, err = s.memory(ctx, known, watch)
	default:
		err = fmt.Errorf("server %s: unknown kind %q", s.entry.Name, s.entry.Kind)
	}
	s.mu.Lock()
	if err != nil {
		s.known = s.opts.Known
		s.mu.Unlock()
		if wants := needsUser(err); wants != nil {
			return nil, wants
		}
		if name, _ := missingProgram(err); name != "" && !s.opts.KeepTrying {
			err = &missingError{err}
		}
		return nil, err
	}
	s.known = l.Revision()
	s.state.Revision, s.state.Pid = l.Revision(), l.pid()
	s.state.Started, s.state.Stderr = time.Now(), ""
	s.state.Starts++
	s.mu.Unlock()
	s.enter(Ready, "", nil)
	return l, nil
}

// onStatus turns the states of the keeper into phases.
func (s *Server) onStatus(now restart.Status) {
	switch now.State {
	case restart.Starting:
		s.enter(Starting, "", nil)
	case restart.Running: // set by connect
	case restart.Waiting:
		phase := Restarting
		if needsUser(now.Err) != nil {
			phase = NeedsLogin // tried again: the user may log in with another program
		}
		s.enter(phase, s.reason(now.Err), func(st *State) { st.Next = now.Delay; setStderr(st, now.Err) })
	case restart.GaveUp:
		s.enter(Failed, s.reason(now.Err), func(st *State) { setStderr(st, now.Err) })
	case restart.Closed: // the caller of the keeper's Close sets the phase
	}
}

// reason returns why a server is not ready, as a sentence for the user, who reads it
// on a page, in a terminal or in the log of a gateway.
func (s *Server) reason(err error) string {
	if err == nil {
		return "it exited"
	}
	name, cause := missingProgram(err)
	then := "then restart the server."
	switch {
	case s.opts.KeepTrying:
		then = "it is tried again by itself."
	case s.opts.Once:
		then = "then try again."
	}
	switch name = visible.Line(name); {
	case errors.Is(cause, exec.ErrNotFound) && strings.Contains(name, " "):
		return fmt.Sprintf("Cannot start: no program named `%s` in PATH. Put its arguments into \"args\"; %s", name, then)
	case errors.Is(cause, exec.ErrNotFound):
		return fmt.Sprintf("Cannot start: no program named `%s` in PATH. Install it, or fix the name; %s", name, then)
	case errors.Is(cause, fs.ErrNotExist):
		return fmt.Sprintf("Cannot start: `%s` does not exist. Fix the path; %s", name, then)
	case errors.Is(cause, fs.ErrPermission):
		return fmt.Sprintf("Cannot start: `%s` is not executable. Run chmod +x on it; %s", name, then)
	}
	return err.Error()
}

// missingProgram returns the program that cannot be started, and why; the name is
// empty for other errors.
func missingProgram(err error) (name string, cause error) {
	if missing, ok := errors.AsType[*exec.Error](err); ok {
		return missing.Name, missing.Err
	}
	if missing, ok := errors.AsType[*fs.PathError](err); ok && missing.Op == "fork/exec" {
		return missing.Path, missing.Err
	}
	return "", nil
}

// A missingError is the error of a program that does not exist or cannot be
// executed. Starting it again at once does not help: the user has to act.
type missingError struct{ error }

func (e *missingError) Unwrap() error   { return e.error }
func (e *missingError) Permanent() bool { return true }

// setStderr stores the last lines of stderr of a process that ended.
func setStderr(st *State, err error) {
	if exit, ok := errors.AsType[*stdio.ExitError](err); ok {
		st.Stderr = exit.Stderr
	}
	if silent, ok := errors.AsType[*idleError](err); ok {
		st.Stderr = silent.stderr
	}
}

// enter changes the phase and reports it. With from, it does so only if the
// server is in one of these phases.
func (s *Server) enter(p Phase, why string, more func(*State), from ...Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(from) > 0 && !slices.Contains(from, s.state.Phase) {
		return
	}
	if s.state.Phase != p {
		s.state.Since = time.Now()
	}
	s.state.Phase, s.state.Why, s.state.Next, s.state.Page = p, s.opts.Secrets.Text(why), 0, ""
	if !s.state.Usable() && p != NeedsLogin {
		s.state.Pid = 0
	}
	if more != nil {
		more(&s.state)
		s.state.Stderr = s.opts.Secrets.Text(s.state.Stderr)
	}
	s.emit()
}

// emit reports the current state: one change at a time, in order, and without the
// lock, so that the receiver may call the server. The lock is held.
func (s *Server) emit() {
	if s.opts.Changed == nil {
		return
	}
	s.changes = append(s.changes, s.state)
	if s.emitter {
		return
	}
	s.emitter = true
	for len(s.changes) > 0 {
		now := s.changes[0]
		s.changes = s.changes[1:]
		s.mu.Unlock()
		s.opts.Changed(now)
		s.mu.Lock()
	}
	s.emitter = false
}

// account records the outcome of a call. A server that responds is fine, also
// with an error; one that does not is degraded until it does.
func (s *Server) account(ctx context.Context, c *mcp.Call, l link, took time.Duration, err error) {
	if c.Method == mcp.MethodSubscriptionsListen {
		return // it is open as long as the subscription
	}
	bad := ""
	switch {
	case outcome.Answered(err):
	case ctx.Err() != nil:
		if silent, ok := errors.AsType[*client.TimeoutError](context.Cause(ctx)); ok {
			bad = silent.Error()
		} else {
			return // the caller cancelled it
		}
	default:
		bad = err.Error()
	}
	s.mu.Lock()
	s.state.Calls++
	if bad == "" {
		s.state.Latency = took
	} else {
		s.state.Errors++
	}
	s.mu.Unlock()
	switch {
	case bad == "":
		s.enter(Ready, "", nil, Degraded)
	case ended(l): // the keeper sets the phase
	default:
		s.enter(Degraded, bad, func(st *State) { st.Stderr = l.lastWords() }, Ready, Degraded)
	}
}

// ended reports whether a connection has ended.
func ended(l link) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// An UnavailableError reports that a server cannot take calls.
type UnavailableError struct {
	State State
	Cause error // the error of the last start; may be nil

	known *redact.Values
}

// Error names the server and the reason, without secrets.
func (e *UnavailableError) Error() string { return e.known.Text(e.text()) }

func (e *UnavailableError) text() string {
	text := fmt.Sprintf("server %s is %s", e.State.Server, e.State.Phase)
	switch {
	case e.State.Phase == Failed, e.State.Phase == Starting && e.Cause != nil: // the phase follows the cause
		text = fmt.Sprintf("connect to %q", e.State.Server)
	case e.State.Usable():
		text = fmt.Sprintf("server %s is being stopped", e.State.Server)
	}
	switch {
	case needsUser(e.Cause) != nil:
		return e.Cause.Error() // it names the server, and what to do
	case e.Cause != nil:
		return text + ": " + strings.TrimPrefix(e.Cause.Error(), "connect to the server: ")
	case e.State.Why != "":
		return text + ": " + e.State.Why
	}
	return text
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// Permanent reports whether the server stays unavailable until the user acts, so
// that waiting for it makes no sense.
func (e *UnavailableError) Permanent() bool {
	return e.State.Phase == Failed || e.State.Phase == Disabled || e.State.Phase == Closed
}
