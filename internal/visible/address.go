package visible

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"
)

// An Address is what a person should know about a web page before opening it.
type Address struct {
	// Machine is the host that a browser would reach, in lower case and without
	// user, final dot or usual port. It is empty if that cannot be told.
	Machine string
	// Refused is why the page must not be opened; empty if it may be.
	Refused string
	// Warnings are what makes the address look like another, or unsafe.
	Warnings []string
}

// AddressOf judges the address of a web page that a server wrote. Where browsers
// read an address in another way than it looks, or than Go does, it is refused.
func AddressOf(raw string) Address {
	u, err := url.Parse(raw)
	switch {
	case strings.Contains(raw, `\`):
		return Address{Refused: `it has a backslash (\) in it, which browsers read as a slash`}
	case err != nil || !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return Address{Refused: "it is not a valid web address"}
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "" || len(u.Hostname()) > 253:
		return Address{Refused: "it is not the address of a web page (https://…)"}
	}
	a := Address{Machine: machine(u)}
	if u.User != nil {
		a.Refused = fmt.Sprintf("what stands before the @ (%s) is a user name and not the machine; the page is on %s", Line(u.User.Username()), a.Machine)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	a.Warnings = hostWarnings(host)
	if u.Scheme == "http" && !onThisMachine(host) {
		a.Warnings = append(a.Warnings, "it is not encrypted (http): others on the way can read and change the page")
	}
	return a
}

// machine is the host to show. What is not ASCII is written in numbers, since
// letters of other alphabets can look the same.
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

// hostWarnings says what is unusual about the name of a machine.
func hostWarnings(host string) []string {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && (ip.IsLoopback() || ip.Is6()):
	case err == nil:
		return []string{"the machine is named by its IP address and not by a name"}
	case last != "" && last[0] >= '0' && last[0] <= '9':
		return []string{"the machine is written as a number, which browsers read as an IP address"}
	}
	for _, label := range labels {
		switch {
		case strings.HasPrefix(label, "xn--"):
			return []string{fmt.Sprintf("%q in the name of the machine stands for letters of other alphabets, which a browser may show as a name that you know", label)}
		case strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 }):
			return []string{"the name of the machine has letters that are not ASCII and may look like another name"}
		}
	}
	return nil
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
