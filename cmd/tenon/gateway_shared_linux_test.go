package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// sharedWorld returns a Redis and functions that run tenon with a configuration
// folder, with and without the URL of that Redis.
func sharedWorld(t *testing.T) (r *redistest.Server, dir string, with, without func(args string) (int, string, string)) {
	t.Helper()
	r, dir = redistest.Start(t, nil), t.TempDir()
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}}}`)
	execute := func(url, args string) (int, string, string) {
		t.Helper()
		cmd := binary(t, strings.Fields(args)...)
		set(cmd, "TENON_CONFIG_DIR", dir)
		if url != "" {
			set(cmd, redisEnv, url)
		}
		return output(t, cmd)
	}
	return r, dir, func(args string) (int, string, string) { return execute(r.URL, args) }, func(args string) (int, string, string) { return execute("", args) }
}

const anywhere = "gateway --addr 127.0.0.1:0 --page off"

// A gateway that cannot use its Redis ends within seconds, and says what is wrong and
// what to do.
func TestGatewayWithAWrongRedis(t *testing.T) {
	r, dir, _, without := sharedWorld(t)
	hung := redistest.Start(t, nil)
	hung.Pause()
	t.Cleanup(hung.Resume)
	gone := freeport.ForTest(t)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123"), 0o640); err != nil {
		t.Fatal(err)
	}
	os.Chmod(secret, 0o640) // whatever the umask is
	for _, c := range []struct {
		flags string
		code  int
		want  []string
	}{
		{"--redis redis://:wrong@" + r.Addr, exitUsage, []string{r.Addr, "does not accept the user or the password", "TENON_REDIS"}},
		{"--redis redis://" + r.Addr, exitUsage, []string{"needs a password"}},
		{"--redis redis://", exitUsage, []string{"TENON_REDIS", "redis://HOST:PORT/DATABASE", "USER:PASSWORD@"}},
		{"--redis redis://" + r.Addr + ":x", exitUsage, []string{"redis://HOST:PORT/DATABASE", "percent-encoded"}},
		{"--redis=", exitUsage, []string{"--redis", "is empty", "off"}},
		{"--redis " + r.URL + " --cluster-secret=", exitUsage, []string{"--cluster-secret", "is empty"}},
		{"--redis " + r.URL + "?master=m", exitUsage, []string{"sentinel_password"}},
		{"--redis " + r.URL + "/9999", exitUsage, []string{"number of a database"}},
		{"--redis redis://" + gone, exitConnection, []string{"connection refused", "Start it"}},
		{"--redis " + hung.URL, exitConnection, []string{hung.Addr, "no answer from Redis", "redis-cli ping"}},
		{"--redis " + r.URL + " --cluster-secret file:" + secret, exitUsage, []string{"accessible to other users (mode 0640)", "chmod 600"}},
	} {
		for _, command := range []string{anywhere, "gateway keys list"} {
			code, _, errs := without(command + " " + c.flags)
			if code != c.code {
				t.Errorf("%s %s: exit code %d: %s", command, c.flags, code, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("%s %s: %q is missing in %s", command, c.flags, want, errs)
				}
			}
			if strings.Contains(errs, "redacted") {
				t.Errorf("it hides what is no secret: %s", errs)
			}
			if strings.Contains(errs, "wrong@") || strings.Contains(errs, redistest.Password) {
				t.Errorf("it shows a password: %s", errs)
			}
		}
	}
}

// A replica that others could not reach, or that has another secret than they, does
// not start, and says what to do.
func TestGatewayWithAWrongPlaceInTheCluster(t *testing.T) {
	r, dir, with, _ := sharedWorld(t)
	for _, name := range []string{"one", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" secret of the replicas"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, other := " --cluster-secret file:"+filepath.Join(dir, "one"), " --cluster-secret file:"+filepath.Join(dir, "other")
	rotate := func(flags string) { // which leaves the keys of a cluster
		t.Helper()
		if code, _, errs := with("gateway keys rotate" + flags); code != 0 {
			t.Fatal(errs)
		}
	}
	rotate("")
	rotate(" --redis " + r.URL + "?prefix=one:" + one)
	for flags, want := range map[string][]string{
		" --cluster-addr :7946": {"names no host", "--cluster-advertise"},
		" --cluster-addr 127.0.0.1:0 --cluster-advertise 10.0.0.1":   {`"10.0.0.1"`, "host:port", "--cluster-advertise"},
		" --cluster-addr 127.0.0.1:0 --cluster-advertise :7946":      {`":7946"`, "host:port", "--cluster-advertise"},
		" --cluster-addr 127.0.0.1:0 --cluster-advertise 10.0.0.1:0": {`"10.0.0.1:0"`, "host:port", "--cluster-advertise"},
		" --cluster-advertise 10.0.0.1:7946":                         {"--cluster-advertise needs --cluster-addr"},
		" --public-url https://mcp.example.com/mcp":                  {"tenon gateway keys add NAME, with --redis and --cluster-secret as here, then"},
		one:                                  {"not encrypted", "without a secret", "prefix"},
		" --redis " + r.URL + "?prefix=one:": {"encrypted", "--cluster-secret", "TENON_CLUSTER_SECRET"},
		" --redis " + r.URL + "?prefix=one:" + other: {"another cluster secret", "the same", "prefix"},
	} {
		code, _, errs := with(anywhere + flags)
		if code != exitUsage {
			t.Errorf("%s: exit code %d: %s", flags, code, errs)
		}
		for _, w := range want {
			if !strings.Contains(errs, w) {
				t.Errorf("%s: %q is missing in %s", flags, w, errs)
			}
		}
	}
	rotate(" --redis " + r.URL + "?prefix=two:" + other) // with another prefix it is another cluster
}

// An interrupt ends a replica without complaints about calls that are still open.
func TestReplicaEndsQuietly(t *testing.T) {
	r, dir, _, _ := sharedWorld(t)
	configured(t, dir, `{"mcpServers":{"demo":{"builtin":"demo"}}}`)
	cmd := binary(t, strings.Fields(anywhere)...)
	set(cmd, "TENON_CONFIG_DIR", dir)
	set(cmd, redisEnv, r.URL)
	p := startProcess(t, cmd)
	send := func(ctx context.Context, body string, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		header = append(header, "Accept", "application/json, text/event-stream", "Content-Type", "application/json")
		for pair := range slices.Chunk(header, 2) {
			req.Header.Set(pair[0], pair[1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	open := send(t.Context(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	open.Body.Close()
	for i := range 8 {
		ctx, leave := context.WithCancel(t.Context())
		call := send(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"demo__slow_report","arguments":{"topic":"tea","seconds":3600},"_meta":{"progressToken":%[1]d}}}`, i),
			"Mcp-Session-Id", open.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25")
		for lines := bufio.NewScanner(call.Body); lines.Scan() && !strings.Contains(lines.Text(), "progress"); {
		}
		leave() // its events are stored from now on
		call.Body.Close()
	}
	p.cmd.Process.Signal(os.Interrupt)
	if code := p.end(); code != 0 && code != exitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	if text := p.errs.String(); strings.Contains(text, "not stored") || strings.Contains(text, "level=ERROR") {
		t.Errorf("it says %s", text)
	}
}

// What the replicas of a gateway share is not looked for in the files of this machine.
func TestCommandsFindWhatReplicasShare(t *testing.T) {
	r, dir, with, without := sharedWorld(t)
	if code, _, errs := without("gateway pins"); code != 0 {
		t.Fatalf("before a gateway ran: %d %s", code, errs)
	}
	servingIn(t, dir, "gateway", "--addr", "127.0.0.1:0", "--page", "off", "--redis", r.URL)
	for _, command := range []string{"pins", "pins approve --all", "logins", "keys list", "keys add ada", "keys remove ada"} {
		code, _, errs := without("gateway " + command)
		if code != exitUsage || !strings.Contains(errs, "in Redis, at redis://"+r.Addr) || !strings.Contains(errs, "TENON_REDIS") || strings.Contains(errs, redistest.Password) {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
	for _, command := range []string{"pins --redis off", "keys list --redis off", "pins --file " + filepath.Join(dir, "pins.json")} {
		if code, _, errs := without("gateway " + command); code != 0 {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
	if code, _, errs := with("gateway pins"); code != 0 {
		t.Errorf("with the URL: %d %s", code, errs)
	}
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}}, "gateway": {"keys": "own.json", "pins": {"file": "pins.json"}}}`)
	for _, command := range []string{"pins", "keys list"} {
		if code, _, errs := without("gateway " + command); code != 0 {
			t.Errorf("%s in a configured file: %d %s", command, code, errs)
		}
	}
}

// A gateway that had API keys on its machine does not serve everybody when it becomes
// one of many replicas: the keys are imported first.
func TestGatewayKeysMoveToRedis(t *testing.T) {
	r, dir, with, without := sharedWorld(t)
	code, key, errs := without("gateway keys add build --group ci")
	if code != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(dir, "gateway-keys.json")
	if code, _, errs := with(anywhere); code != exitUsage || !strings.Contains(errs, `tenon gateway keys import `+file) {
		t.Errorf("with a file of keys: %d %s", code, errs)
	}
	for _, want := range []string{"Added 1 of 1", "Added 0 of 1"} {
		if code, _, errs := with("gateway keys import " + file); code != 0 || !strings.Contains(errs, want) {
			t.Errorf("import: %d %s", code, errs)
		}
	}
	if code, out, _ := with("gateway keys list"); code != 0 || !strings.Contains(out, "build  groups ci") {
		t.Errorf("list: %d %s", code, out)
	}
	url, said := servingIn(t, dir, "gateway", "--addr", "127.0.0.1:0", "--page", "off", "--redis", r.URL)
	if !strings.Contains(said.String(), "the file of API keys is not used") {
		t.Errorf("it says %s", said.String())
	}
	if code, _, _ := tenon(t, "tools", url); code == 0 {
		t.Error("a client without a key is served")
	}
	if code, _, errs := tenon(t, "tools", url, "--header", "Authorization: Bearer "+strings.TrimSpace(key)); code != 0 {
		t.Errorf("a client with the key: %s", errs)
	}
	if code, _, errs := with("gateway keys add other --cluster-secret env:NOPE"); code != exitUsage || !strings.Contains(errs, "NOPE") {
		t.Errorf("without the variable: %d %s", code, errs)
	}
	t.Setenv("TENON_CLUSTER_SECRET", "0123456789abcdef0123")
	if code, _, errs := tenon(t, "gateway", "keys", "add", "other", "--config-dir", dir, "--redis", r.URL); code != exitUsage || !strings.Contains(errs, "have no cluster secret") {
		t.Errorf("with a secret that the replicas do not have: %d %s", code, errs)
	}
}

// With "keys": "redis" no gateway starts without keys, such as after Redis has lost
// its data.
func TestGatewayRequiresKeysOfRedis(t *testing.T) {
	_, dir, with, without := sharedWorld(t)
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}}, "gateway": {"keys": "redis"}}`)
	if code, _, errs := with(anywhere); code != exitUsage || !strings.Contains(errs, "Redis has no API keys") {
		t.Errorf("without keys: %d %s", code, errs)
	}
	for _, command := range []string{anywhere, "gateway keys list"} {
		if code, _, errs := without(command); code != exitUsage || !strings.Contains(errs, "--redis") {
			t.Errorf("%s without Redis: %d %s", command, code, errs)
		}
	}
}

// A replica that requires no authorization stops when the replicas get API keys.
func TestReplicaWithoutAuthorizationStopsWhenThereAreKeys(t *testing.T) {
	r, dir, with, _ := sharedWorld(t)
	cmd := binary(t, strings.Fields(anywhere)...)
	set(cmd, "TENON_CONFIG_DIR", dir)
	set(cmd, redisEnv, r.URL)
	p := startProcess(t, cmd)
	if code, _, errs := with("gateway keys add ada"); code != 0 {
		t.Fatal(errs)
	}
	if code := p.end(); code != exitConnection || !strings.Contains(p.errs.String(), "have API keys now") {
		t.Errorf("it ended with %d: %s", code, p.errs)
	}
}

// A replica that requires no authorization does not go on beside one that does, also
// if Redis has lost its data just before it starts.
func TestReplicaWithoutAuthorizationStopsBesideAnother(t *testing.T) {
	r, dir, with, _ := sharedWorld(t)
	start := func(args ...string) *gatewayProcess {
		cmd := binary(t, append(strings.Fields(anywhere), args...)...)
		set(cmd, "TENON_CONFIG_DIR", dir)
		set(cmd, redisEnv, r.URL)
		set(cmd, "TENON_TEST_TOKEN", "0123456789012345678901234567")
		return startProcess(t, cmd)
	}
	const said = "requires authorization, and this one"
	open := start()
	start("--auth-token", "TENON_TEST_TOKEN")
	if code := open.end(); code != exitConnection || !strings.Contains(open.errs.String(), said) {
		t.Errorf("when another requires authorization, it ended with %d: %s", code, open.errs)
	}
	r.Do("FLUSHALL")
	if code, _, errs := with(anywhere); code != exitConnection && code != exitUsage || !strings.Contains(errs, said) {
		t.Errorf("when Redis has lost its data, it ended with %d: %s", code, errs)
	}
}
