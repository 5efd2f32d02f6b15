package httpguard

import (
	"net/netip"
	"strings"
)

// An authority is a host as in a Host header: a name in lower case or an address,
// without the brackets of IPv6, and an optional port.
type authority struct{ name, port string }

func parseAuthority(text string) (authority, bool) {
	name, port, hasPort := text, "", false
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inner, after, closed := strings.Cut(rest, "]")
		port, hasPort = strings.CutPrefix(after, ":")
		ip, err := netip.ParseAddr(inner)
		if !closed || after != "" && !hasPort || err != nil || !ip.Is6() || ip.Zone() != "" {
			return authority{}, false
		}
		name = inner
		if inner != "::1" {
			name = ip.String() // the canonical form
		}
	} else {
		name, port, hasPort = strings.Cut(text, ":")
		if !isName(name) {
			return authority{}, false
		}
		name = strings.ToLower(name)
	}
	if hasPort && !isPort(port) {
		return authority{}, false
	}
	return authority{name, port}, true
}

// isName reports whether s has only characters of host names.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return s != ""
}

func isPort(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || '9' < s[i] {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= 5
}

// loopback reports whether the host is always this machine. It does not resolve
// names, since an attacker may control the resolver.
func (a authority) loopback() bool {
	switch a.name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	if c := a.name[0]; c != '1' && c != ':' {
		return false
	}
	ip, err := netip.ParseAddr(a.name)
	return err == nil && ip.IsLoopback()
}

// withoutDefaultPort removes the default port of the scheme.
func (a authority) withoutDefaultPort(scheme string) authority {
	if scheme == "http" && a.port == "80" || scheme == "https" && a.port == "443" {
		a.port = ""
	}
	return a
}

// An origin is the origin of a web page, without a default port.
type origin struct {
	scheme string
	authority
}

func parseOrigin(text string) (origin, bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme == "" {
		return origin{}, false
	}
	for i := range len(scheme) {
		switch c := scheme[i] | 0x20; {
		case 'a' <= c && c <= 'z', i > 0 && ('0' <= scheme[i] && scheme[i] <= '9' || scheme[i] == '-' || scheme[i] == '+' || scheme[i] == '.'):
		default:
			return origin{}, false
		}
	}
	a, ok := parseAuthority(rest)
	if !ok {
		return origin{}, false
	}
	scheme = strings.ToLower(scheme)
	return origin{scheme, a.withoutDefaultPort(scheme)}, true
}
