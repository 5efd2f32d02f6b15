// Package freeport finds addresses for servers that start later, or start again at
// the address they had.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below the ephemeral range (from 32768 on Linux, from 49152 elsewhere).
// The system assigns ports of that range to connections and to listeners on port 0, so
// another program could get one before the server starts or while it is down.
const (
	first = 12_000
	last  = 32_000
)

var given struct {
	sync.Mutex
	ports map[int]bool
}

// Addr returns an address of this machine that nobody listens on. It returns none
// twice.
func Addr() (string, error) {
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = make(map[int]bool)
	}
	var failed error
	for range 1000 {
		port := first + rand.IntN(last-first)
		if given.ports[port] {
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			failed = err
			continue
		}
		l.Close()
		given.ports[port] = true
		return addr, nil
	}
	return "", failed
}

// ForTest is Addr for a test, which fails if there is none.
func ForTest(t interface {
	Helper()
	Fatal(...any)
}) string {
	t.Helper()
	addr, err := Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
