package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// marks is a server that remembers which calls were made, and outlives the host.
type marks struct {
	mu    sync.Mutex
	begun []int
	count int // of beginnings and ends
}

func (m *marks) step(begins bool, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if begins {
		m.begun = append(m.begun, n)
	}
	m.count++
}

func (m *marks) steps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *marks) serve(t *testing.T) (url string) {
	s := server.New(mcp.Implementation{Name: "c", Version: "1"}, nil)
	server.AddTool(s, "mark", "", func(_ context.Context, _ *mcp.Call, a struct {
		N int `json:"n"`
	}) (string, error) {
		m.step(true, a.N)
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond) // a crash may come in between
		m.step(false, a.N)
		return fmt.Sprintf("marked %d", a.N), nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	return web.URL
}

// crashes is how often the host is killed: TENON_CRASHES of them for the long
// form.
func crashes(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("TENON_CRASHES")); err == nil {
		return n
	}
	if testing.Short() {
		return 3
	}
	return 12
}

// H6: whenever a host is killed, and however, its session is resumed with what the
// person said and the result of every call that ended; a call that was running is
// told of; no call is made again; and it is the right session.
func TestKilledHostsAreResumed(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP}
	catchHangup(t)
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString(`{"expect":{"role":"user"}}` + "\n")
	for n := 1; n <= 6; n++ {
		fmt.Fprintf(&script, `{"call":{"name":"c__mark","arguments":{"n":%d}}}`+"\n", n)
		if n%3 == 0 {
			script.WriteString(`{"done":""}` + "\n" + `{"expect":{"role":"tool"}}` + "\n")
		}
	}
	script.WriteString(`{"text":"All done."}` + "\n" + `{"done":""}` + "\n")
	write(t, filepath.Join(dir, "turn.jsonl"), script.String())
	write(t, filepath.Join(dir, "after.jsonl"), `{"expect":{}}`+"\n"+`{"text":"Resumed."}`+"\n"+`{"done":""}`+"\n")
	for i := range crashes(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { crashOnce(t, dir, signals[i%len(signals)]) })
	}
}

func crashOnce(t *testing.T, dir string, sig syscall.Signal) {
	var m marks
	chat := binary(t, "chat", "--plain", "--model", "script:"+dir+"/turn.jsonl", "--allow", "c")
	config := filepath.Join(chat.Dir, "config")
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(config, "tenon.json"), fmt.Sprintf(`{"mcpServers":{"c":{"url":%q}}}`, m.serve(t)))
	in, err := chat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out lockedBuffer
	chat.Stdout, chat.Stderr = &out, &out
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "please mark all")
	point := rand.IntN(14) // 12 steps, and the time around them
	for deadline := time.Now().Add(time.Minute); m.steps() < point && !strings.Contains(out.String(), "All done."); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			chat.Process.Kill()
			t.Fatalf("the turn hangs: %s", out.String())
		}
	}
	time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
	chat.Process.Signal(sig)
	guard := time.AfterFunc(time.Minute, func() { chat.Process.Signal(syscall.SIGQUIT) }) // it says where it hangs
	chat.Wait()
	if !guard.Stop() {
		t.Fatalf("%v at step %d does not end the chat: %s", sig, point, out.String())
	}

	env := func(args ...string) *exec.Cmd {
		cmd := binary(t, args...)
		cmd.Dir, cmd.Env = chat.Dir, chat.Env
		return cmd
	}
	if rand.IntN(2) == 0 { // a run in between is not the last session (H27)
		if code, _, errs := output(t, env("run", "-p", "something else", "--model", "script:"+dir+"/after.jsonl")); code != exitOK {
			t.Fatal(errs)
		}
	}
	record := filepath.Join(t.TempDir(), "asked.jsonl")
	code, resumed, errs := output(t, env("run", "-p", "go on", "--resume", "last", "--output", "json", "--model", "record:"+record+":script:"+dir+"/after.jsonl"))
	if code != exitOK {
		if len(m.begun) == 0 && strings.Contains(errs, "no session to resume") && !strings.Contains(out.String(), "c/mark") {
			return // it was killed before it took the line
		}
		t.Fatalf("%v at %d: exit code %d: %s\nbefore: %s", sig, point, code, errs, out.String())
	}
	asked, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, &m, fmt.Sprintf("%v at %d", sig, point), string(asked), resumed, errs)
}

// verify holds what the model was given after a crash against the calls that were
// made before it.
func verify(t *testing.T, m *marks, when, asked, resumed, errs string) {
	t.Helper()
	if !strings.Contains(asked, "please mark all") {
		t.Errorf("%s: what the person said is lost: %s", when, asked)
	}
	once := slices.Compact(slices.Sorted(slices.Values(m.begun)))
	if len(once) != len(m.begun) {
		t.Errorf("%s: a call was made twice: %v", when, m.begun)
	}
	finished := regexp.MustCompile(`marked \d`).FindAllString(asked, -1)
	unknown := strings.Count(asked, "The host ended while this call was running. Whether it has done something is not known")
	cancelled := strings.Count(asked, "The call was cancelled: the host ended. Whether it has done something is not known") // HUP and TERM stop the turn in good order
	if n := strings.Count(asked, "Whether it has done something is not known"); n != unknown+cancelled {
		t.Errorf("%s: %d calls are said to be unknown, of which %d were running and %d cancelled: %s", when, n, unknown, cancelled, asked)
	}
	told := strings.Count(errs, "was running when Tenon ended")
	if unknown != told || unknown > 1 {
		t.Errorf("%s: %d calls are said to be unknown to the model, and %d to the person: %s", when, unknown, told, errs)
	}
	if n := len(finished) + unknown + cancelled; n < len(m.begun) {
		t.Errorf("%s: %d calls were made, and the session knows of %d finished, %d unknown, %d cancelled: %s", when, len(m.begun), len(finished), unknown, cancelled, asked)
	}
	if len(finished) < len(m.begun)-1 {
		t.Errorf("%s: %d calls were made, one after the other, and only %d results are there", when, len(m.begun), len(finished))
	}
	var answer struct{ Answer string }
	if err := json.Unmarshal([]byte(resumed), &answer); err != nil || answer.Answer != "Resumed." {
		t.Errorf("%s: %v: %s", when, err, resumed)
	}
}

// catchHangup lets programs that the test starts receive SIGHUP although the
// test runs under nohup: a signal that is caught here has its default effect in
// a child, one that is ignored stays ignored.
func catchHangup(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(c) })
}

// H6: a signal that ends the chat leaves the terminal as it was.
func TestSignalsLeaveTheTerminalWhole(t *testing.T) {
	catchHangup(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		s := ptytest.New(t)
		cmd := binary(t, "chat", "--model", "none", "--server", "builtin:calc")
		before, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		atTerminal(t, cmd, s.TTY)
		s.Sees("/help")
		cmd.Process.Signal(sig)
		cmd.Wait()
		after, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
		if err != nil || after.Lflag != before.Lflag || after.Iflag != before.Iflag || after.Oflag != before.Oflag {
			t.Errorf("%v: the terminal's flags are %x, and were %x: %v", sig, after.Lflag, before.Lflag, err)
		}
		if cmd.ProcessState.ExitCode() < 0 {
			t.Errorf("%v ended the program before it could clean up", sig)
		}
	}
}

// H7: a second process on a session is told who has it open, and can copy it or
// take it over.
func TestSecondProcessOnASession(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), strings.Repeat(`{"expect":{}}`+"\n"+`{"text":"Yes."}`+"\n"+`{"done":""}`+"\n", 3))
	chat := binary(t, "chat", "--plain", "--model", "script:"+dir+"/a.jsonl", "--server", "builtin:calc")
	in, err := chat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	chat.Stdout, chat.Stderr = &out, &out
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	defer chat.Process.Kill()
	waits := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); strings.Count(out.String(), "Yes.") < n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it hangs: %s", out.String())
			}
		}
	}
	fmt.Fprintln(in, "first")
	waits(1)
	run := func(id string, more ...string) (int, string, string) {
		cmd := binary(t, append([]string{"run", "-p", "second", "--resume", id, "--model", "script:" + dir + "/a.jsonl", "--server", "builtin:calc"}, more...)...)
		cmd.Dir, cmd.Env = chat.Dir, chat.Env
		return output(t, cmd)
	}
	code, _, errs := run("last")
	if code != exitUsage || !strings.Contains(errs, fmt.Sprintf("is open in process %d", chat.Process.Pid)) || !strings.Contains(errs, "--take-over") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	id := regexp.MustCompile(`session (\S+) is open`).FindStringSubmatch(errs)[1]
	for _, how := range []string{"--copy", "--take-over"} {
		if code, _, errs := run(id, how); code != exitOK {
			t.Errorf("%s: exit code %d: %s", how, code, errs)
		}
	}
	fmt.Fprintln(in, "third")
	waits(2)
	in.Close()
	chat.Wait()
	if !strings.Contains(out.String(), "This session was continued in another process") || !strings.Contains(out.String(), "continues as the copy") {
		t.Errorf("the first was not told: %s", out.String())
	}
}
