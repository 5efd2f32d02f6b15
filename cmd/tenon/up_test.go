package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A page is tenon up or tenon inspect as a process, and the addresses it
// printed.
type page struct {
	cmd       *exec.Cmd
	addresses []string
	errs      *os.File
}

// startPage starts the program and reads the addresses that it prints.
func startPage(t *testing.T, cmd *exec.Cmd) *page {
	t.Helper()
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &page{cmd: cmd, errs: errs}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		guard := time.AfterFunc(hangs, func() { cmd.Process.Kill() })
		defer guard.Stop()
		cmd.Wait()
		errs.Close()
	})
	lines := bufio.NewReaderSize(out, 64<<10)
	for len(v.addresses) == 0 || lines.Buffered() > 0 { // the addresses come in one piece
		line, err := lines.ReadString('\n')
		if err != nil {
			text, _ := os.ReadFile(errs.Name())
			t.Fatalf("no address was printed: %v\n%s", err, text)
		}
		if word, address, _ := strings.Cut(line, " "); word == "Open" || word == "or" {
			v.addresses = append(v.addresses, strings.TrimSpace(address))
		}
	}
	go io.Copy(io.Discard, out) // ends with the process
	return v
}

// launcher puts a browser launcher into the search path that writes what it was
// given into the returned file.
func launcher(t *testing.T, cmd *exec.Cmd) (told string) {
	t.Helper()
	name := map[string]string{"darwin": "open"}[runtime.GOOS]
	if name == "" {
		name = "xdg-open"
	}
	dir := t.TempDir()
	told = filepath.Join(dir, "told")
	script(t, dir, name, `printf '%s\n' "$@" > `+told+".tmp && mv "+told+".tmp "+told+"\n")
	set(cmd, "PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return told
}

// C1: tenon up opens the very address that it prints, and the page is there.
func TestUpOpensTheBrowser(t *testing.T) {
	for _, args := range [][]string{{"up"}, {"inspect", "builtin:calc"}} {
		cmd := binary(t, append(args, "--model", "none")...)
		told := launcher(t, cmd)
		v := startPage(t, cmd)
		var got []byte
		for end := time.Now().Add(hangs); got == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			got, _ = os.ReadFile(told) // the launcher is another process
		}
		if string(got) != v.addresses[0]+"\n" || !strings.Contains(v.addresses[0], "/#token=") {
			t.Errorf("%s: the launcher got %q, and %q was printed", args[0], got, v.addresses)
		}
		loads(t, v.addresses[0])
	}
}

// The order service of tenon up gives its key to the server that wraps it, and to
// nothing else.
func TestUpWrapsTheOrderService(t *testing.T) {
	p := &program{err: io.Discard}
	service, err := p.startOrders(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer service.stop()
	s, err := p.openBuiltin("orders", url.Values{"base": {service.base}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(tool, args string) string {
		r, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + tool + `","arguments":` + args + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Body)
	}
	if got := call("get_order", `{"order_id":"T-0042"}`); !strings.Contains(got, `"refundable"`) || strings.Contains(got, service.key) {
		t.Error(got)
	}
	if got := call("process_refund", `{"order_id":"T-0042","reason":"broken"}`); !strings.Contains(got, "nothing was done") {
		t.Errorf("it refunds without asking: %s", got)
	}
	if p.secrets.Known(service.key) == service.key {
		t.Error("the key is not known as a secret")
	}
}

// Without a browser the address is printed all the same.
func TestUpWithoutABrowserPrintsTheAddress(t *testing.T) {
	cmd := binary(t, "up", "--model", "none")
	set(cmd, "PATH", t.TempDir())
	v := startPage(t, cmd)
	loads(t, v.addresses[0])
	text, err := os.ReadFile(v.errs.Name())
	if err != nil || strings.Count(string(text), "browser") != 1 || !strings.Contains(string(text), "Could not open a browser: find xdg-open: executable file not found in $PATH. Open the address yourself.") {
		t.Errorf("nobody says, once, that no browser was opened: %s, %v", text, err)
	}
}

// C13: every address that is printed is one that the page is served under.
func TestEveryPrintedAddressWorks(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0", "localhost:0"} {
		v := startPage(t, binary(t, "up", "--model", "none", "--no-browser", "--remote", "--addr", addr))
		for _, at := range v.addresses {
			if u, err := url.Parse(at); err != nil || net.ParseIP(u.Hostname()) == nil {
				continue // the machine's name may lead nowhere in a test
			}
			loads(t, at)
		}
	}
}

func loads(t *testing.T, address string) {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %.200s, %v", address, r.Status, body, err)
	}
}

// The page listens where other machines can reach it only when it is told to.
func TestPageListensHere(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", ":0", "192.0.2.1:0"} {
		l, err := listenLocal("--addr", addr, false)
		if err == nil {
			l.Close()
			t.Errorf("%s is listened on", addr)
		} else if !strings.Contains(err.Error(), "--remote") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	l, err := listenLocal("--addr", "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if hosts := pageHosts(l); hosts != nil {
		t.Errorf("a page of this machine may be called %q", hosts)
	}
	all, err := listenLocal("--addr", "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	hosts := pageHosts(all)
	if slices.Contains(hosts, "0.0.0.0") || !slices.Contains(hosts, "127.0.0.1") {
		t.Errorf("a page that others reach may be called %q", hosts)
	}
	for _, h := range hosts {
		if strings.Contains(h, "/") || net.ParseIP(h) == nil && strings.Contains(h, ":") {
			t.Errorf("%q is no name", h)
		}
	}
}

// C13: tenon up with --server makes no samples and starts no other server.
func TestUpWithServersStartsNoSamples(t *testing.T) {
	cmd := binary(t, "up", "--model", "none", "--no-browser", "-s", "builtin:calc")
	startPage(t, cmd)
	if all, err := filepath.Glob(filepath.Join(cmd.Dir, "data", "tenon", "*")); err != nil || slices.ContainsFunc(all, func(f string) bool { return filepath.Base(f) != "host" }) {
		t.Errorf("samples were made: %q, %v", all, err)
	}
}

// H27: a session of the page belongs to the folder in which tenon up was started,
// and --resume last finds it there.
func TestSessionOfThePageIsResumed(t *testing.T) {
	cmd := binary(t, "up", "--model", scripted(t, `{"expect":{"role":"user"}}`, `{"text":"Hello from the page."}`, `{"done":""}`), "--server", "builtin:calc", "--no-browser")
	v := startPage(t, cmd)
	address, token, _ := strings.Cut(v.addresses[0], "#token=")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	api := &http.Client{Jar: jar, Timeout: hangs}
	do := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequest(method, address+"api/v1/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", strings.TrimSuffix(address, "/"))
		got, err := api.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil || got.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, got.StatusCode, text, err)
		}
		return string(text)
	}
	do("POST", "login", `{"token":"`+token+`"}`)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(do("POST", "sessions", `{}`)), &made); err != nil {
		t.Fatal(err)
	}
	do("POST", "sessions/"+made.ID+"/send", `{"text":"good morning, page"}`)
	eventually(t, func() bool { return strings.Contains(do("GET", "sessions/"+made.ID, ""), `"busy":false`) })
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	record := filepath.Join(t.TempDir(), "asked.jsonl")
	resume := binary(t, "run", "-p", "go on", "--resume", "last", "--model", "record:"+record+":"+scripted(t, `{"expect":{"role":"user"}}`, `{"text":"Going on."}`, `{"done":""}`))
	resume.Dir, resume.Env = cmd.Dir, cmd.Env
	if code, out, errs := output(t, resume); code != exitOK {
		t.Fatalf("exit code %d: %s %s", code, out, errs)
	}
	if asked, err := os.ReadFile(record); err != nil || !strings.Contains(string(asked), "good morning, page") {
		t.Errorf("the session of the page was not resumed: %s %v", asked, err)
	}
}
