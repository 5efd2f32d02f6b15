package stores

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// changes is how many changes the process makes in each run.
const changes = 2

// calls are the calls of the system that change what is stored.
const calls = "write,pwrite64,writev,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,unlink,unlinkat,ftruncate,mkdir,mkdirat,fchmod"

func TestMain(m *testing.M) {
	if name := os.Getenv("TENON_STORE"); name != "" {
		work(all[name], os.Getenv("TENON_STORE_DIR"))
		return
	}
	os.Exit(m.Run())
}

// work makes changes and says which were acknowledged. It stays on one thread,
// because strace counts the calls of each.
func work(s tested, dir string) {
	runtime.LockOSThread()
	change, closed, err := s.open(dir)
	if err != nil {
		fmt.Println("not opened:", err)
		os.Exit(0)
	}
	for i := 1; i <= changes; i++ {
		if err := change(i); err != nil {
			fmt.Printf("refused %d: %v\n", i, err)
		} else {
			fmt.Printf("acknowledged %d\n", i)
		}
	}
	if err := closed(); err != nil {
		fmt.Println("not closed:", err)
	}
	os.Exit(0)
}

// start runs the process with a store under strace.
func start(t *testing.T, name, dir string, options ...string) (acknowledged []int, said string, trace []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", append(append([]string{"-f", "-qq", "-o", log, "-e", "signal=none", "-e", "trace=" + calls}, options...), self)...)
	cmd.Env = append(os.Environ(), "TENON_STORE="+name, "TENON_STORE_DIR="+dir, "GOMAXPROCS=2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // it may be killed, which is the point
	for _, m := range regexp.MustCompile(`(?m)^acknowledged (\d+)$`).FindAllStringSubmatch(out.String(), -1) {
		i, _ := strconv.Atoi(m[1])
		acknowledged = append(acknowledged, i)
	}
	trace, err = os.ReadFile(log)
	if err != nil {
		t.Fatalf("strace does not work here: %v: %s", err, &out)
	}
	return acknowledged, out.String(), trace
}

var traced = regexp.MustCompile(`(?m)^(\d+) +(\w+)\(`)

// counted returns how often the thread that calls it most makes each call.
func counted(trace []byte) map[string]int {
	each := map[string]map[string]int{}
	for _, m := range traced.FindAllSubmatch(trace, -1) {
		thread, call := string(m[1]), string(m[2])
		if each[call] == nil {
			each[call] = map[string]int{}
		}
		each[call][thread]++
	}
	most := map[string]int{}
	for call, threads := range each {
		most[call] = slices.Max(slices.Collect(maps.Values(threads)))
	}
	return most
}

// Every store keeps what it has acknowledged, whole, whichever call of the system
// fails and wherever its process is killed; and goes on after that.
func TestStoresSurvive(t *testing.T) {
	needtest.Program(t, "strace")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ok, said, trace := start(t, name, dir)
			if len(ok) != changes {
				t.Fatalf("without a fault: %s", said)
			}
			check(t, name, dir, ok, "no fault")
			if !all[name].loose && !all[name].later {
				checkSynced(t, trace)
			}
			faults := 0
			for call, count := range counted(trace) {
				for n := 1; n <= count; n++ {
					for _, fault := range []string{"error=EIO", "signal=KILL"} {
						faults++
						dir := t.TempDir()
						ok, said, _ := start(t, name, dir, "-e", fmt.Sprintf("inject=%s:%s:when=%d", call, fault, n))
						check(t, name, dir, ok, fmt.Sprintf("%s number %d with %s:\n%s", call, n, fault, said))
					}
				}
			}
			t.Logf("%d faults", faults)
			if faults < 4 {
				t.Errorf("only %d faults were tried", faults)
			}
		})
	}
}

// check reads what is stored after a run, makes one more change and reads again.
func check(t *testing.T, name, dir string, acknowledged []int, when string) {
	t.Helper()
	s := all[name]
	got, err := s.read(dir)
	if s.loose {
		if err != nil && !os.IsNotExist(err) {
			t.Errorf("after %s\nit cannot be read: %v", when, err)
		}
		for i, whole := range got {
			if !whole {
				t.Errorf("after %s\nchange %d is there in part", when, i)
			}
		}
		return
	}
	if err != nil {
		t.Errorf("after %s\nit cannot be read: %v", when, err)
		return
	}
	for _, i := range acknowledged {
		if !got[i] {
			t.Errorf("after %s\nchange %d was acknowledged and is lost", when, i)
		}
	}
	const more = changes + 1
	change, closed, err := s.open(dir)
	if err != nil {
		t.Errorf("after %s\nit cannot be opened: %v", when, err)
		return
	}
	if err := change(more); err != nil {
		t.Errorf("after %s\nit takes no further change: %v", when, err)
	}
	if err := closed(); err != nil {
		t.Error(err)
	}
	again, err := s.read(dir)
	if err != nil || !again[more] {
		t.Errorf("after %s\nand one more change: %v, %v", when, again, err)
	}
	for i := range got {
		if !again[i] {
			t.Errorf("after %s\nchange %d is lost by the next one", when, i)
		}
	}
}

// checkSynced finds in a run without faults that files were synced between each
// two acknowledgments.
func checkSynced(t *testing.T, trace []byte) {
	t.Helper()
	synced := false
	for line := range strings.Lines(string(trace)) {
		switch {
		case strings.Contains(line, " fsync(") || strings.Contains(line, " fdatasync("):
			synced = true
		case strings.Contains(line, `write(1, "acknowledged`):
			if !synced {
				t.Errorf("a change was acknowledged before it was synced: %s", line)
			}
			synced = false
		}
	}
}
