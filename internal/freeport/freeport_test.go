package freeport_test

import (
	"net"
	"testing"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

func TestAddrIsFreeAndGivenOnce(t *testing.T) {
	seen := make(map[string]bool)
	for range 200 {
		addr := freeport.ForTest(t)
		if seen[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		seen[addr] = true
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port >= 32768 {
			t.Errorf("port %d may be given to any program that asks for one", port)
		}
	}
}
