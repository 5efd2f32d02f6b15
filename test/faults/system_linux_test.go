package faults

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// ownNetwork runs the tests in a network namespace of their own, where that is
// possible: links that come and go would disturb others on this machine, such as
// browsers, which give up their requests when the network changes.
func ownNetwork() {
	const variable = "TENON_FAULTS_NETWORK"
	if os.Getuid() != 0 || os.Getenv(variable) != "" {
		return
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.Command(unshare, "--net", "ip", "link", "set", "lo", "up").Run() != nil {
		return
	}
	args := append([]string{unshare, "--net", "sh", "-c", `ip link set lo up && exec "$0" "$@"`}, os.Args...)
	if err := unix.Exec(unshare, args, append(os.Environ(), variable+"=own")); err != nil {
		panic(err)
	}
}

// A network is a network namespace with a link to this one. Cutting it drops all
// packets: nothing is closed, nothing is refused.
type network struct {
	t     *testing.T
	ns    *os.File
	cut   func() // makes the link drop everything
	mend  func() // undoes it
	ours  string // our address
	their string
	link  string
}

var networks atomic.Int64

// newNetwork makes a network; it needs root.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if os.Getuid() != 0 {
		needtest.Missing(t, "network namespaces need root")
	}
	for _, program := range []string{"unshare", "ip", "nsenter"} {
		needtest.Program(t, program)
	}
	// Two networks of two runs at once do not meet: a part of the process id is in
	// the address.
	id, pid := networks.Add(1), os.Getpid()
	subnet := fmt.Sprintf("10.%d.%d", 64+pid%128, id%250)
	n := &network{t: t, ours: subnet + ".1", their: subnet + ".2", link: fmt.Sprintf("tf%x-%d", pid%0xfffff, id)}
	holder := exec.Command("unshare", "--net", "cat")
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		holder.Wait()
	})
	path := fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid)
	ours, err := os.Readlink("/proc/thread-self/ns/net") // the first thread may be in a network
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if now, err := os.Readlink(path); err == nil && now != ours {
			break
		}
		if time.Since(begin) > long {
			needtest.Missing(t, "unshare makes no network namespace")
		}
	}
	if n.ns, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.ns.Close() })
	inside := []string{"nsenter", "--net=" + path}
	for _, command := range [][]string{
		{"ip", "link", "add", n.link, "type", "veth", "peer", "name", "inside", "netns", fmt.Sprint(holder.Process.Pid)},
		{"ip", "addr", "add", n.ours + "/24", "dev", n.link},
		{"ip", "link", "set", n.link, "up"},
		append(inside, "ip", "addr", "add", n.their+"/24", "dev", "inside"),
		append(inside, "ip", "link", "set", "inside", "up"),
		append(inside, "ip", "link", "set", "lo", "up"),
	} {
		if said, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			needtest.Missing(t, fmt.Sprintf("%s: %v: %s", strings.Join(command, " "), err, said))
		}
	}
	t.Cleanup(func() { exec.Command("ip", "link", "del", n.link).Run() }) // it may have ended with the namespace
	set := func(to string) func() {
		return func() { // the other end drops everything; our end does not know
			if said, err := exec.Command(inside[0], append(slices.Clone(inside[1:]), "ip", "link", "set", "inside", to)...).CombinedOutput(); err != nil {
				t.Errorf("setting the link %s: %v: %s", to, err, said)
			}
		}
	}
	n.cut, n.mend = set("down"), set("up")
	return n
}

// within calls a function in a thread that is in the namespace.
func (n *network) within(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(int(n.ns.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- f()
	}()
	return <-result
}

// listen listens in the network.
func (n *network) listen() (l net.Listener, err error) {
	err = n.within(func() (err error) {
		l, err = net.Listen("tcp", n.their+":0")
		return err
	})
	return l, err
}

// dial connects from the network to an address outside.
func (n *network) dial(address string) func() (io.ReadWriteCloser, error) {
	return func() (c io.ReadWriteCloser, err error) {
		err = n.within(func() (err error) {
			c, err = net.Dial("tcp", address)
			return err
		})
		return c, err
	}
}

// clockVariable names the file with the seconds by which the clock of a process
// is wrong, see jumpingClock.
const clockVariable = "TENON_TEST_CLOCK_FILE"

// A clock is the clock of a process.
type clock struct{ file string }

func newClock(t *testing.T) *clock {
	t.Helper()
	c := &clock{filepath.Join(t.TempDir(), "clock")}
	c.set(t, 0)
	return c
}

// set lets the clock jump by that much from the right time.
func (c *clock) set(t *testing.T, by time.Duration) {
	t.Helper()
	f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(by/time.Second)))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// jumpingClock writes a time.go into a folder whose clock is wrong by the seconds
// in the file that clockVariable names, at any moment. As with a real jump, times
// that are measured stay right. It returns the file to replace, too.
func jumpingClock(dir string) (original, changed string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", "", err
	}
	original, changed = filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"), filepath.Join(dir, "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", "", err
	}
	const now = "\nfunc Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), now) != 1 {
		return "", "", errors.New("time.Now of this version of Go begins in another way: adapt the test")
	}
	text := strings.Replace(string(source), now, now+"\tif clockOffset != nil {\n\t\tsec += *clockOffset\n\t}\n", 1)
	text = strings.Replace(text, "\nimport (\n", "\nimport (\n\t\"syscall\"\n", 1) + `
var clockOffset = func() *int64 {
	name, ok := syscall.Getenv("` + clockVariable + `")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	syscall.Close(fd)
	return (*int64)(unsafe.Pointer(unsafe.SliceData(page)))
}()
`
	if !strings.Contains(text, "\t\"unsafe\"\n") && !strings.Contains(text, "\t_ \"unsafe\"") {
		text = strings.Replace(text, "\nimport (\n", "\nimport (\n\t\"unsafe\"\n", 1)
	}
	text = strings.Replace(text, "\t_ \"unsafe\"", "\t\"unsafe\"", 1)
	return original, changed, os.WriteFile(changed, []byte(text), 0o600)
}

// small makes a folder on a file system of its own with room for some pages.
func small(t *testing.T, kib int) string {
	t.Helper()
	if os.Getuid() != 0 {
		needtest.Missing(t, "mounting a small file system needs root")
	}
	dir, err := os.MkdirTemp("", "tenon-small-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tenon-faults", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=700", kib)); err != nil {
		os.Remove(dir)
		needtest.Missing(t, "mounting a small file system: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		os.Remove(dir)
	})
	return dir
}

// fill fills a file system to the last byte, and returns what frees it again.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filled")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// descriptors limits the descriptors of a process to those that it has and some
// more, and returns what frees them again.
func (p *process) descriptors(more int) (free func()) {
	p.t.Helper()
	pid := p.cmd.Process.Pid
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		p.t.Fatal(err)
	}
	used := map[string]bool{}
	for _, e := range entries {
		used[e.Name()] = true
	}
	lowest := 0 // the system gives the lowest number that is free
	for ; used[fmt.Sprint(lowest)] || more > 0; lowest++ {
		if !used[fmt.Sprint(lowest)] {
			more--
		}
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		p.t.Fatal(err)
	}
	limit := old
	limit.Cur = uint64(lowest)
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			p.t.Error(err)
		}
	}
}
