package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// clockVariable is the environment variable by which the clock of a program of
// skewed is wrong, in seconds.
const clockVariable = "TENON_TEST_CLOCK"

// skewed builds tenon with a package time whose clock can be set wrong.
func skewed(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const now = "\nfunc Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), now) != 1 {
		t.Fatal("time.Now of this version of Go begins in another way: adapt the test")
	}
	text := strings.Replace(string(source), now, now+"\tsec += clockOffset\n", 1)
	text = strings.Replace(text, "\nimport (\n", "\nimport (\n\t\"syscall\"\n", 1) + `
var clockOffset = func() (n int64) {
	text, _ := syscall.Getenv("` + clockVariable + `")
	for i := range len(text) {
		if text[i] != '-' {
			n = n*10 + int64(text[i]-'0')
		}
	}
	if len(text) > 0 && text[0] == '-' {
		n = -n
	}
	return n
}()
`
	dir := t.TempDir()
	changed, overlay, out := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tenon")
	files, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{changed: text, overlay: string(files)} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command("go", "build", "-overlay", overlay, "-o", out, "../../cmd/tenon").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

// Replicas whose clocks are a minute before and behind the others' share
// sessions, states, keys and members.
func TestWrongClocks(t *testing.T) {
	bin := skewed(t)
	_, _, servers := twoShops(t)
	w := startEach(t, 3, servers, "", func(i int, r *replica) {
		r.bin, r.env = bin, append(r.env, fmt.Sprintf("%s=%d", clockVariable, []int{60, 0, -60}[i]))
	})
	if !w.clockIsWrong(t) {
		t.Fatal("the clocks of the replicas are right")
	}
	round := func() {
		t.Helper()
		for _, rev := range revisions {
			c := w.dial(t, rev, &client.Options{Elicit: accept})
			for i := range 4 {
				call(t, c, "modern__add", map[string]any{"a": i, "b": 1})
			}
			if rev < mcp.Rev20250618 {
				continue
			}
			for _, server := range []string{"modern", "legacy", "modern", "legacy"} {
				if got := call(t, c, server+"__order", map[string]any{"name": "ink"}); got != "100 g of ink" {
					t.Errorf("%s: order: %s", rev, got)
				}
			}
		}
	}
	round()
	w.tenon(t, "gateway", "keys", "rotate")
	round()
	for begin := time.Now(); time.Since(begin) < 12*time.Second; time.Sleep(200 * time.Millisecond) { // longer than a lease
		for _, r := range w.replicas {
			if n := len(r.status(t).Cluster.Members); n != 3 {
				t.Fatalf("%s sees %d members", r.name, n)
			}
		}
	}
	w.replicas[0].kill()
	w.replicas[2].members(t, 2)
	round()
}

// clockIsWrong reports whether the clocks of the first and the last replica are
// two minutes apart: each says the time in the Date header.
func (w *world) clockIsWrong(t testing.TB) bool {
	t.Helper()
	first, last := w.replicas[0].date(t), w.replicas[len(w.replicas)-1].date(t)
	return first.Sub(last) > 100*time.Second
}

// date returns the time of a replica.
func (r *replica) date(t testing.TB) time.Time {
	t.Helper()
	resp, err := http.Get("http://" + r.addr + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return date
}
