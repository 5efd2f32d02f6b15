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

// guardScript waits for the end of its input, which comes when this process is
// gone, however it went. It then ends its own process group: first politely,
// after a second by force, itself included. Nothing is ever inserted into it.
const guardScript = `trap "" HUP INT QUIT TERM USR1 USR2 PIPE ALRM
read -r x
kill -s TERM 0
sleep 1
kill -s KILL 0`

// A group is the process group of one server: the server, what it starts, and
// a guard.
//
// The guard leads the group, so the group's number cannot come to mean another
// group before the guard has been waited for, and no kill can hit a stranger.
// Where no guard can be started (an image without /bin/sh), the server leads
// the group: its number is then free for a moment between the server's end and
// the last kill. On Linux the kernel kills the server, though not what it
// started, when this process dies.
type group struct {
	mu    sync.Mutex // held while the group's number is used
	id    int        // of the process group; 0 if there is none (yet, or any more)
	guard *exec.Cmd  // nil if there is none
	life  *os.File   // as long as it is open, the guard waits
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
		return nil, fmt.Errorf("cannot start a guard process: %w", err)
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

// adopt takes in the process that prepare prepared.
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
		// The only error worth the name is that nobody is left.
		_ = syscall.Kill(-g.id, s)
	}
}

// release waits for the guard, which must have been killed, and lets go of the
// group: no signal is sent any more.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.id = 0
	if g.guard != nil {
		_ = g.guard.Wait() // it was killed: there is nothing to learn
		g.life.Close()
	}
}

// CloseOnExec marks every descriptor above 2 of this process close-on-exec, so
// that no program it starts inherits one. Go does so for the files it opens;
// CloseOnExec is for descriptors that this process inherited itself, or that
// code outside Go opened. It changes the whole process, so only a program may
// decide to call it, at the start of main; this package never does. On Windows
// it does nothing: there, programs inherit the standard handles alone.
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
