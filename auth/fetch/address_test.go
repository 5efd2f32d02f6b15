package fetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// A02, CVE-2026-44430 and its like (CVE-2026-58196): what an address is decides,
// not how it is written.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		ip   string
		with permission
		ok   bool
	}{
		{"127.0.0.1", withLoopback, false}, {"127.255.255.254", withLoopback, false}, {"::1", withLoopback, false},
		{"10.0.0.1", withPrivate, false}, {"172.16.0.1", withPrivate, false}, {"172.31.255.255", withPrivate, false},
		{"192.168.1.1", withPrivate, false}, {"fd00::1", withPrivate, false}, {"fc00::1", withPrivate, false},
		{"100.64.0.1", withPrivate, false}, {"100.127.255.255", withPrivate, false},

		{"0.0.0.0", never, false}, {"0.1.2.3", never, false}, {"169.254.169.254", never, false}, {"192.0.0.1", never, false},
		{"192.0.2.1", never, false}, {"192.88.99.1", never, false}, {"198.18.0.1", never, false}, {"198.19.255.255", never, false},
		{"198.51.100.1", never, false}, {"203.0.113.1", never, false}, {"224.0.0.1", never, false}, {"239.255.255.255", never, false},
		{"240.0.0.1", never, false}, {"255.255.255.255", never, false},
		{"::", never, false}, {"::127.0.0.1", never, false}, {"::ffff:127.0.0.1", never, false}, {"::ffff:169.254.169.254", never, false},
		{"::ffff:8.8.8.8", never, false}, {"::ffff:0:127.0.0.1", never, false},
		{"64:ff9b::7f00:1", never, false}, {"64:ff9b::808:808", never, false}, {"64:ff9b:1::a00:1", never, false},
		{"100::1", never, false}, {"2001::1", never, false}, {"2001:0:7f00:1::", never, false}, {"2001:db8::1", never, false},
		{"2001:10::1", never, false}, {"2001:20::1", never, false}, {"2002:7f00:1::", never, false}, {"2002:a00:1::", never, false},
		{"3fff::1", never, false}, {"fe80::1", never, false}, {"fe80::1%eth0", never, false}, {"febf::1", never, false},
		{"fec0::1", never, false}, {"feff::1", never, false}, {"ff02::1", never, false}, {"5f00::1", never, false}, {"4000::1", never, false},

		{"8.8.8.8", 0, true}, {"172.15.255.255", 0, true}, {"172.32.0.1", 0, true}, {"100.63.255.255", 0, true},
		{"100.128.0.1", 0, true}, {"2606:4700::1111", 0, true}, {"2a00:1450::1", 0, true}, {"2001:4860::8888", 0, true},
	} {
		ip := netip.MustParseAddr(test.ip)
		for _, o := range []Options{{}, {AllowLoopback: true}, {AllowPrivate: true}, {AllowLoopback: true, AllowPrivate: true}} {
			err := newTransport(o).checkAddress(ip)
			want := test.ok || test.with == withLoopback && o.AllowLoopback || test.with == withPrivate && o.AllowPrivate
			if (err == nil) != want {
				t.Errorf("%s with %+v: %v", test.ip, o, err)
			}
			if err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v is not marked as refused", test.ip, err)
			}
		}
	}
}

// A01, A02: none of these is dialled. Names and odd spellings are left to the
// resolver, and what comes out of it to the dialer.
func TestRefusedURLs(t *testing.T) {
	for _, raw := range []string{
		"http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "https://10.0.0.1/", "https://127.0.0.1/",
		"http://[::ffff:169.254.169.254]", "https://[::ffff:169.254.169.254]", "http://0x7f.1", "http://2130706433", "http://017700000001",
		"http://[2002:7f00:1::]", "https://[2002:7f00:1::]", "http://[64:ff9b::7f00:1]", "https://[64:ff9b::7f00:1]",
		"http://[fec0::1]", "https://[fec0::1]", "http://0.0.0.0", "https://0.0.0.0", "https://[fe80::1%25lo]/",
		"http://example.com/", "http://localhost.example.com/", "http://localhost/", "https://localhost/",
		"ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:6379/", "/relative", "https:///nohost", "https://user:secret@example.com/", "",
	} {
		_, err := newClient(t, nil).Get(t.Context(), raw)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", raw, err)
		}
	}
}

// A name that resolves to a forbidden address is found out when it is dialled,
// even if nothing about the name says so.
func TestNamesAreJudgedByTheirAddress(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	tr := newTransport(Options{})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for _, via := range []*http.Transport{tr.secure, tr.plain} {
		conn, err := via.DialContext(context.Background(), "tcp", net.JoinHostPort("localhost", port))
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("localhost was dialled: %v", err)
		}
	}
}

// Plain text goes to loopback alone, whatever else is allowed.
func TestPlainTextStaysHere(t *testing.T) {
	tr := newTransport(Options{AllowLoopback: true, AllowPrivate: true})
	for _, addr := range []string{"10.0.0.1:80", "8.8.8.8:80", "[::ffff:127.0.0.1]:1", "192.168.0.1:80"} {
		conn, err := tr.plain.DialContext(t.Context(), "tcp", addr)
		if err == nil {
			conn.Close()
		}
		if addr[0] != '[' && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, raw := range []string{"http://10.0.0.1/", "http://example.com/", "http://[::ffff:127.0.0.1]/"} {
		if _, err := newClient(t, &Options{AllowLoopback: true, AllowPrivate: true}).Get(t.Context(), raw); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
