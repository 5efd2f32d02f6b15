package inspect

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// headers that are secret although their names do not say so.
var secretHeaders = []string{"authorization", "cookie", "credential", "token", "secret", "password", "api-key", "apikey", "signature", "assertion", "dpop", "x-key"}

// redactHeader takes the secret out of a header's value. What kind of
// credentials were sent stays, and the beginning of a session id, so that two
// sessions can be told apart.
func redactHeader(name, value string) string {
	low := strings.ToLower(name)
	if low == "mcp-session-id" {
		return shorten(value, 6)
	}
	if low == "www-authenticate" {
		return value // a challenge holds no secret, and says what is wrong
	}
	for _, s := range secretHeaders {
		if strings.Contains(low, s) {
			if scheme, rest, ok := strings.Cut(value, " "); ok && strings.HasSuffix(low, "authorization") && rest != "" {
				return scheme + " " + Redacted
			}
			return Redacted
		}
	}
	if low == "location" || low == "referer" || low == "link" {
		if u, err := url.Parse(value); err == nil {
			return redactURL(u)
		}
	}
	return redactText(value)
}

// redactURL writes a URL without its password and without secret parameters.
func redactURL(u *url.URL) string {
	shown := *u
	if shown.User != nil {
		shown.User = url.User(Redacted)
	}
	if shown.RawQuery != "" {
		q := shown.Query()
		for name, values := range q {
			if secretName(name) || name == "code" || name == "state" {
				for i := range values {
					values[i] = Redacted
				}
			}
		}
		shown.RawQuery = q.Encode()
	}
	return shown.String()
}

var secretNames = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "pwd": true,
	"secret": true, "clientsecret": true, "secretkey": true, "secretaccesskey": true,
	"token": true, "accesstoken": true, "refreshtoken": true, "idtoken": true, "authtoken": true, "bearertoken": true, "sessiontoken": true,
	"apikey": true, "apitoken": true, "xapikey": true, "accesskey": true, "privatekey": true, "signingkey": true, "encryptionkey": true,
	"authorization": true, "proxyauthorization": true, "credential": true, "credentials": true, "cookie": true, "setcookie": true,
	"otp": true, "pin": true, "cvv": true, "cvc": true, "connectionstring": true, "dsn": true,
}

// secretName reports whether a member of this name holds a secret.
func secretName(name string) bool {
	return secretNames[strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))]
}

// Texts that are secrets whatever they stand under.
var secretText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i:\b(?:bearer|basic|dpop)\s+)[A-Za-z0-9._~+/=-]{12,}` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*` + // JWT
		`|\b(?:sk|pk|rk)-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{20,}` +
		`|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}` +
		`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}` +
		`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?` +
		`|\b([a-z][a-z0-9+.-]*://[^\s/:@"]+):[^\s/@"]+@`)
})

func redactText(s string) string {
	return secretText().ReplaceAllString(s, Redacted)
}

// Redact returns a frame without its secrets: values of members whose name says
// that they hold one (password, token, api_key and their like), and texts that
// look like one (bearer tokens, JWTs, private keys, well-known key prefixes,
// passwords in URLs). Everything else stays byte for byte. Frames that are not
// JSON are treated as text.
func Redact(frame []byte) []byte {
	if rawjson.Check(frame) != nil {
		if !secretText().Match(frame) {
			return frame
		}
		return secretText().ReplaceAll(frame, []byte(Redacted))
	}
	var cuts []cut
	findSecrets(frame, 0, &cuts)
	if len(cuts) == 0 {
		return frame
	}
	var out []byte
	last := 0
	for _, c := range cuts {
		out = append(append(out, frame[last:c.from]...), c.with...)
		last = c.to
	}
	return append(out, frame[last:]...)
}

type cut struct {
	from, to int
	with     []byte
}

// findSecrets looks for secret values in raw, which begins at base in the frame.
func findSecrets(raw []byte, base int, cuts *[]cut) {
	switch {
	case rawjson.IsObject(raw):
		for m := rawjson.Object(raw); m.Next(); {
			from := base + m.End - len(m.Value)
			if secretName(string(m.Name)) && plain(m.Value) {
				*cuts = append(*cuts, cut{from, base + m.End, []byte(`"` + Redacted + `"`)})
				continue
			}
			findSecrets(m.Value, from, cuts)
		}
	case rawjson.IsArray(raw):
		at := 0
		for e := rawjson.Array(raw); e.Next(); {
			// Elements lie in raw one after the other: their capacity tells where.
			at = cap(raw) - cap(e.Value)
			findSecrets(e.Value, base+at, cuts)
		}
	case rawjson.IsString(raw):
		s, _ := rawjson.String(raw)
		if clean := redactText(s); clean != s {
			*cuts = append(*cuts, cut{base, base + len(raw), rawjson.AppendString(nil, clean)})
		}
	}
}

// plain reports whether a value can be a secret: a text that is not empty or a
// number. A schema that describes a password is an object.
func plain(raw []byte) bool {
	return rawjson.IsString(raw) && len(raw) > 2 || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}
