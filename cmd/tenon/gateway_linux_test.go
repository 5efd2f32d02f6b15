package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A gatewayProcess is a gateway in a process of its own.
type gatewayProcess struct {
	cmd  *exec.Cmd
	url  string
	errs *told
}

func startGateway(t *testing.T, notify string, args ...string) *gatewayProcess {
	t.Helper()
	cmd := binary(t, append([]string{"gateway", "--addr", "127.0.0.1:0"}, args...)...)
	set(cmd, "NOTIFY_SOCKET", notify)
	return startProcess(t, cmd)
}

// startProcess starts the command of a gateway.
func startProcess(t *testing.T, cmd *exec.Cmd) *gatewayProcess {
	t.Helper()
	p := &gatewayProcess{cmd: cmd, errs: &told{said: make(chan string, 1)}}
	cmd.Stderr = p.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(4*hangs, func() { cmd.Process.Kill() })
	t.Cleanup(func() { guard.Stop(); cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, p.errs)
	}
	_, p.url, _ = strings.Cut(strings.TrimSpace(line), " at ")
	return p
}

// end waits for the end of the process and returns its exit code.
func (p *gatewayProcess) end() int {
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// calling makes a call in the background.
func (p *gatewayProcess) calling(t *testing.T, tool string) <-chan int {
	done := make(chan int, 1)
	cmd := binary(t, "call", p.url, tool)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(4*hangs, func() { cmd.Process.Kill() })
	go func() {
		cmd.Wait()
		guard.Stop()
		done <- cmd.ProcessState.ExitCode()
	}()
	return done
}

// TestGatewayDrains sends SIGTERM during a call: the gateway accepts no further
// one, says that it is not ready, and ends with 0 when the call has ended.
func TestGatewayDrains(t *testing.T) {
	slow := newGate(t)
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	states := make(chan string, 4)
	go func() {
		for b := make([]byte, 100); ; {
			n, err := systemd.Read(b)
			if err != nil {
				return
			}
			states <- string(b[:n])
		}
	}()
	p := startGateway(t, socket, "--ops-addr", "127.0.0.1:0", "-s", slow.url, "--names", "plain")
	if s := <-states; s != "READY=1" {
		t.Errorf("state %q", s)
	}
	done := p.calling(t, "pass")
	eventually(t, func() bool { return slow.waiting.Load() == 1 })
	p.cmd.Process.Signal(syscall.SIGTERM)
	if s := <-states; s != "STOPPING=1" {
		t.Errorf("state %q", s)
	}
	eventually(t, func() bool {
		resp, err := http.Get(p.url)
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	_, ops, _ := strings.Cut(p.errs.String(), "Metrics and status are at ")
	ops, _, _ = strings.Cut(ops, "\n")
	if code, body := get(t, ops+"/readyz", ""); code != http.StatusServiceUnavailable || body != "ending\n" {
		t.Errorf("readiness: %d %s", code, body)
	}
	close(slow.open)
	if code := <-done; code != 0 {
		t.Errorf("the open call ended with %d", code)
	}
	if code := p.end(); code != 0 {
		t.Errorf("the gateway ended with %d: %s", code, p.errs)
	}
}

// TestGatewayIsNotReadyUntilItsEnd has a server that takes its time to end: meanwhile
// the gateway still says that it is not ready.
func TestGatewayIsNotReadyUntilItsEnd(t *testing.T) {
	dir := t.TempDir()
	closing, end := filepath.Join(dir, "closing"), filepath.Join(dir, "end")
	slow := script(t, dir, "slow", `"$TENON" serve calc
echo > "$DIR/closing"
while [ ! -e "$DIR/end" ]; do sleep 0.05; done
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	configured(t, dir, fmt.Sprintf(`{"mcpServers":{"slow":{"command":%q,"env":{"DIR":%q,"TENON":%q,"TENON_TEST_MAIN":"1"}}}}`, slow, dir, self))
	cmd := binary(t, "gateway", "--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
	set(cmd, "TENON_CONFIG_DIR", dir)
	p := startProcess(t, cmd)
	ops, said := "", false
	eventually(t, func() bool {
		_, ops, _ = strings.Cut(p.errs.String(), "Metrics and status are at ")
		ops, _, said = strings.Cut(ops, "\n")
		return said
	})
	eventually(t, func() bool { code, _ := get(t, ops+"/readyz", ""); return code == http.StatusOK })
	p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, func() bool { _, err := os.Stat(closing); return err == nil })
	if code, body := get(t, ops+"/readyz", ""); code != http.StatusServiceUnavailable || body != "ending\n" {
		t.Errorf("readiness: %d %s", code, body)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 0 {
		t.Errorf("the gateway ended with %d: %s", code, p.errs)
	}
}

// TestGatewayEnds has the gateway end although a call stays open: at once on an
// interrupt and on the second signal, and after the time of --drain.
func TestGatewayEnds(t *testing.T) {
	for name, c := range map[string]struct {
		drain   string
		signals []syscall.Signal
		code    int
	}{
		"interrupt":      {"1h", []syscall.Signal{syscall.SIGINT}, 0},
		"second SIGTERM": {"1h", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, exitInterrupted},
		"limit":          {"100ms", []syscall.Signal{syscall.SIGTERM}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			slow := newGate(t)
			p := startGateway(t, "", "--drain", c.drain, "-s", slow.url, "--names", "plain")
			done := p.calling(t, "pass")
			eventually(t, func() bool { return slow.waiting.Load() == 1 })
			p.cmd.Process.Signal(c.signals[0])
			for _, again := range c.signals[1:] {
				eventually(t, func() bool { return strings.Contains(p.errs.String(), "waiting for open calls") })
				p.cmd.Process.Signal(again)
			}
			if code := p.end(); code != c.code {
				t.Errorf("the gateway ended with %d: %s", code, p.errs)
			}
			<-done
		})
	}
}

// TestGatewayReloadsOnHangup reads the configuration again on SIGHUP, also if no
// file has changed, and also under nohup.
func TestGatewayReloadsOnHangup(t *testing.T) {
	t.Run("nohup", func(t *testing.T) {
		signal.Ignore(syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
		reloadsOnHangup(t)
	})
	t.Run("as usual", func(t *testing.T) {
		catchHangup(t)
		reloadsOnHangup(t)
	})
}

func reloadsOnHangup(t *testing.T) {
	t.Helper()
	p := startGateway(t, "", "-s", "builtin:calc")
	p.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, func() bool { return strings.Contains(p.errs.String(), "the configuration is in use") })
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := binary(t, "call", p.url, "calc__add", "a=2", "b=3")
	if code, out, errs := output(t, cmd); code != 0 || !strings.Contains(out, "5") {
		t.Errorf("after the reload: %d %s %s %v", code, out, errs, ctx.Err())
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.end(); code != 0 {
		t.Errorf("the gateway ended with %d: %s", code, p.errs)
	}
}

// TestInterruptDoesNotWaitForPrograms ends the gateway before a program that ends
// neither with its input nor when it is asked to, and the program a moment later.
func TestInterruptDoesNotWaitForPrograms(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf("trap '' TERM; echo $$ > %s; while :; do sleep 0.1; done", file)
	configured(t, dir, fmt.Sprintf(`{"mcpServers":{"calc":{"builtin":"calc"},"stubborn":{"command":"sh","args":["-c",%q]}}}`, script))
	p := startGateway(t, "", "--config-dir", dir, "--project", t.TempDir())
	eventually(t, func() bool { return strings.HasSuffix(lines(file), "\n") })
	pid, err := strconv.Atoi(strings.TrimSpace(lines(file)))
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Signal(syscall.SIGINT)
	if code := p.end(); code != 0 || !runs(pid) {
		t.Errorf("the gateway ended with %d, and waited for the program: %v", code, !runs(pid))
	}
	eventually(t, func() bool { return !runs(pid) })
}
