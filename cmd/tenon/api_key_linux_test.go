package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A server without a credential says what to do, and tenon api key does it: the key
// is in the keyring, and in no output.
func TestAPIKeysInTheKeyring(t *testing.T) {
	s, address := startKeyring(t)
	d := newDesk(t)
	const key = "marker-key-of-orders"
	here := func(code int, input string, args ...string) string {
		t.Helper()
		cmd := d.command(args...)
		set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
		set(cmd, "ORDERS_API_KEY", "")
		cmd.Stdin = strings.NewReader(input)
		out := d.run(code, cmd)
		if strings.Contains(out, key) {
			t.Errorf("%v prints the key: %s", args, out)
		}
		return out
	}
	contains(t, here(exitConnection, "", "tools", "builtin:orders"), `no credential for Orders: set the environment variable ORDERS_API_KEY, or store it in the keyring with "tenon api key orders"`)
	contains(t, here(exitUsage, "\n", "api", "key", "orders"), "the key is empty")
	contains(t, here(exitUsage, key, "api", "key", "a b"), "name one key")
	contains(t, here(exitOK, key+"\n", "api", "key", "orders"), "${keyring:orders}")
	if got := s.all(); got != "tenon-servers/orders="+key {
		t.Errorf("the keyring has %q", got)
	}
	contains(t, here(exitOK, "", "tools", "builtin:orders"), "process_refund")
	here(exitOK, "", "api", "key", "orders", "--remove")
	if got := s.all(); got != "" {
		t.Errorf("the keyring has %q", got)
	}
	contains(t, d.tenon(exitUsage, "api", "key", "orders"), "no keyring is available here")
}

// A file that is not there is named, whatever the command is.
func TestMissingAPIFiles(t *testing.T) {
	k := newTasker(t)
	none := filepath.Join(t.TempDir(), "none.yaml")
	for _, args := range [][]string{{"api", "check", none, "orders"}, {"api", "test", none}, {"api", "call", none, "tool"}, {"api", "draft", none}, {"api", "test", "orders", "--recording", none}} {
		k.run(exitUsage, args, "err:tenon: there is no file "+none)
	}
	k.run(exitUsage, []string{"api", "check", none, "orders"}, "orders: ok")
	k.run(exitUsage, []string{"api", "check", "githb"}, `err:there is no file githb; did you mean the pack "github"?`)
	k.run(exitUsage, []string{"api", "check", t.TempDir()}, "err:cannot read ")
}
