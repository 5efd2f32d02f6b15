package main

import (
	"net"
	"strings"
	"testing"
)

// A command that cannot serve at an address names the address or the flag, and says
// what to do.
func TestAddressesThatCannotBeServed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	used := taken.Addr().String()
	for _, test := range []struct{ args, want string }{
		{"serve calc --http " + used, used + " is in use by another program: choose another address with --http"},
		{"serve calc --http 8080", `--http must be an address and a port, such as 127.0.0.1:8080, not "8080"`},
		{"serve calc --http 127.0.0.1:99999", `--http must be an address and a port, such as 127.0.0.1:8080, not "127.0.0.1:99999"`},
		{"serve calc --http 192.0.2.1:8080", "192.0.2.1:8080 is not an address of this machine"},
		{"demo orders --addr " + used, used + " is in use by another program: choose another address with --addr"},
		{"demo orders --addr 127.0.0.1:99999", `--addr must be an address and a port, such as 127.0.0.1:8480, not "127.0.0.1:99999"`},
		{"up -s builtin:calc --no-browser --addr " + used, used + " is in use by another program: choose another address with --addr"},
		{"up -s builtin:calc --no-browser --addr 8080", `--addr must be an address and a port, such as 127.0.0.1:7071, not "8080"`},
		{"gateway -s builtin:calc --addr 127.0.0.1:0 --page " + used, used + " is in use by another program: choose another address with --page"},
		{"gateway -s builtin:calc --addr 127.0.0.1:0 --ops-addr " + used, used + " is in use by another program: choose another address with --ops-addr"},
		{"gateway -s builtin:calc --addr 8080", `--addr must be an address and a port, such as 127.0.0.1:7070, not "8080"`},
	} {
		code, _, errs := tenon(t, append(strings.Fields(test.args), "--config-dir", t.TempDir(), "--project", t.TempDir())...)
		if code != exitUsage || !strings.Contains(errs, test.want) {
			t.Errorf("%s: exit code %d: %s; want %q", test.args, code, errs, test.want)
		}
	}
}
