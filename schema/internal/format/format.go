// Package format knows the formats of JSON Schema: their names, and what some
// of them demand of a text. A Plan and a Validator use the same checks.
package format

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Names are the formats of JSON Schema 2020-12. Those without a check are
// written into a schema and not enforced.
var Names = []string{
	"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
	"ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template",
	"json-pointer", "relative-json-pointer", "regex",
}

// A Check is what a format demands of a text.
type Check struct {
	Valid   func(string) bool
	Expects string // what is expected, as the end of "expected …"
}

// Of returns the check of a format. Most formats are not enforced; ok is false
// then.
func Of(name string) (check Check, ok bool) {
	for i := range checks {
		if checks[i].name == name {
			return checks[i].Check, true
		}
	}
	return Check{}, false
}

// checks are the formats that are enforced. They are few, and a map would have
// to be made at every start.
var checks = [...]struct {
	name string
	Check
}{
	{"date-time", Check{IsDateTime, `a date and time such as "2026-01-31T12:00:00Z"`}},
	{"date", Check{isDate, `a date such as "2026-01-31"`}},
	{"email", Check{isEmail, `an email address such as "name@example.com"`}},
	{"uri", Check{isURI, `an absolute URI such as "https://example.com/"`}},
	{"uuid", Check{isUUID, `a UUID such as "123e4567-e89b-12d3-a456-426614174000"`}},
	{"ipv4", Check{func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }, "an IPv4 address"}},
	{"ipv6", Check{func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" }, "an IPv6 address"}},
}

// IsDateTime is the check of "date-time".
func IsDateTime(s string) bool {
	_, ok := ParseDateTime(s)
	return ok
}

// ParseDateTime is time.Parse without its leniences (a comma before the
// fraction, short hours, impossible offsets).
func ParseDateTime(s string) (time.Time, bool) {
	if len(s) < 20 || s[10] != 'T' || s[13] != ':' || s[16] != ':' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	if !strings.HasSuffix(s, "Z") && (s[len(s)-6:len(s)-3] > "+23" && s[len(s)-6] == '+' ||
		s[len(s)-6:len(s)-3] > "-23" && s[len(s)-6] == '-' || s[len(s)-2:] > "59") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isEmail takes a name, an @ and a domain. It knows no quoted names and no
// comments.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 254 {
		return false
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`()<>[]:;,\"`, r) {
			return false
		}
	}
	if name := s[:at]; strings.Contains(name, "@") || dotted(name) {
		return false
	}
	domain := s[at+1:]
	return domain != "" && !dotted(domain) && !strings.HasPrefix(domain, "-") && !strings.HasSuffix(domain, "-")
}

// dotted reports dots where an address has none.
func dotted(s string) bool {
	return strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..")
}

func isURI(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("\"<>\\^`{|}", s[i]) >= 0 {
			return false
		}
	}
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'f':
		default:
			return false
		}
	}
	return true
}
