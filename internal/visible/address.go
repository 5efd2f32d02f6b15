package visible

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"
)

// An Address describes a web address to a user before it is opened.
type Address struct {
	// Machine is the host that a browser would connect to, in lower case and
	// without user, final dot or default port. It is empty if it is unknown.
	Machine string
	// Refused is why the page must not be opened; empty if it may be.
	Refused string
	// Warnings say what is misleading or unsafe about the address.
	Warnings []string
}

// AddressOf checks a web address that a server sent. It refuses an address
// that browsers read differently from how it looks or from how Go reads it.
func AddressOf(raw string) Address {
	u, err := url.Parse(raw)
	switch {
	case strings.Contains(raw, `\`):
		return Address{Refused: `it contains a backslash (\), which browsers read as a slash`}
	case err != nil || !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return Address{Refused: "it is not a valid web address"}
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "" || len(u.Hostname()) > 253:
		return Address{Refused: "it is not a web page address (https://…)"}
	}
	a := Address{Machine: machine(u)}
	if u.User != nil {
		a.Refused = fmt.Sprintf("the part before the @ (%s) is a user name, not the machine; the page is on %s", Line(u.User.Username()), a.Machine)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	a.Warnings = hostWarnings(host)
	if u.Scheme == "http" && !onThisMachine(host) {
		a.Warnings = append(a.Warnings, "it is not encrypted (http): others on the network can read and change the page")
	}
	return a
}

// machine returns the host to show. Characters beyond ASCII are escaped,
// since letters of other alphabets can look the same.
func machine(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	var b strings.Builder
	for _, r := range host {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	host = b.String()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		host += ":" + port
	}
	return Line(host)
}

// hostWarnings returns what is unusual about a host name.
func hostWarnings(host string) []string {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && (ip.IsLoopback() || ip.Is6()):
	case err == nil:
		return []string{"the machine is an IP address, not a name"}
	case last != "" && last[0] >= '0' && last[0] <= '9':
		return []string{"the machine is written as a number, which browsers read as an IP address"}
	}
	for _, label := range labels {
		switch {
		case strings.HasPrefix(label, "xn--"):
			return []string{fmt.Sprintf("%q in the machine name encodes letters of other alphabets, which may look like a name you know", label)}
		case strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 }):
			return []string{"the machine name has letters beyond ASCII, which may look like another name"}
		}
	}
	return nil
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
