//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guardShell runs guardScript. The server itself is never started by a shell.
var guardShell = "/bin/sh"

// guardScript waits for the end of its input, which is the end of this process.
// It then terminates its own process group and kills it a second later. Nothing
// is ever inserted into the script.
const guardScript = `trap "" HUP INT QUIT TERM USR1 USR2 PIPE ALRM
read -r x
kill -s TERM 0
sleep 1
kill -s KILL 0`

// A group is the process group of one server: the server, what it starts, and a
// guard.
//
// The guard leads the group, so that the id of the group is not reused before the
// guard has been waited for, and no other group is killed. Without /bin/sh there
// is no guard, and the server leads the group: its id may be reused between the
// server's end and the last kill. On Linux the kernel then kills the server, but
// not what it started, when this process ends.
type group struct {
	mu    sync.Mutex // held while id is used
	id    int        // of the process group; 0 if there is none
	guard *exec.Cmd  // nil if there is none
	life  *os.File   // the guard waits while it is open
}

// newGroup starts the guard.
func newGroup() (*group, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	guard := exec.Command(guardShell, "-c", guardScript, "tenon-guard")
	guard.Env = []string{"PATH=/usr/bin:/bin"}
	guard.Dir = "/"
	guard.Stdin = r
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = guard.Start()
	r.Close()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		w.Close()
		return &group{}, nil
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("start the guard process: %w", err)
	}
	return &group{id: guard.Process.Pid, guard: guard, life: w}, nil
}

// prepare makes cmd start inside the group.
func (g *group) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, g.id
	if g.guard == nil {
		dieWithParent(cmd.SysProcAttr)
	}
}

// adopt adds the process that prepare prepared.
func (g *group) adopt(p *os.Process) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 {
		g.id = p.Pid
	}
	return nil
}

// terminate asks every process of the group to end.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill ends every process of the group.
func (g *group) kill() { g.signal(syscall.SIGKILL) }

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id > 0 {
		// The error means that the group is empty.
		_ = syscall.Kill(-g.id, s)
	}
}

// release waits for the guard, which must have been killed. No signal is sent
// after it.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.id = 0
	if g.guard != nil {
		_ = g.guard.Wait() // it was killed
		g.life.Close()
	}
}

// CloseOnExec marks every descriptor above 2 of this process close-on-exec, so
// that no program inherits it. Go does so for the files it opens; CloseOnExec is
// for descriptors that this process inherited, or that C code opened. It affects
// the whole process, so call it at the start of main; this package never does. On
// Windows it does nothing: programs inherit only the standard handles.
func CloseOnExec() {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		d, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, err := d.Readdirnames(-1)
		d.Close()
		if err != nil {
			continue
		}
		for _, name := range names {
			if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
				syscall.CloseOnExec(fd)
			}
		}
		return
	}
}

// endingSignal returns the signal that ended a process, or nil.
func endingSignal(state *os.ProcessState) os.Signal {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return nil
}
