package main

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// The page listens where other machines can reach it only when it is told to.
func TestPageListensHere(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", ":0", "192.0.2.1:0"} {
		l, err := listenLocal(addr, false)
		if err == nil {
			l.Close()
			t.Errorf("%s is listened on", addr)
		} else if !strings.Contains(err.Error(), "--remote") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	l, err := listenLocal("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if hosts := pageHosts(l); hosts != nil {
		t.Errorf("a page of this machine may be called %q", hosts)
	}
	all, err := listenLocal("0.0.0.0:0", true)
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
