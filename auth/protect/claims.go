package protect

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"
)

// skew is the allowed clock difference between the issuer and this machine.
const skew = 60 * time.Second

// claims are the members of a token or of an introspection response.
type claims map[string]stdjson.RawMessage

// readClaims decodes an object strictly: duplicate names could have another
// meaning for another reader.
func readClaims(payload []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil || c == nil {
		return nil, invalid("the claims of the token are not a valid JSON object")
	}
	return c, nil
}

// text returns a string claim; ok is false if it is missing or not a string.
func (c claims) text(name string) (s string, ok bool) {
	raw, there := c[name]
	return s, there && json.Unmarshal(raw, &s) == nil && string(raw) != "null"
}

// texts returns a string claim or an array of strings.
func (c claims) texts(name string) ([]string, bool) {
	if s, ok := c.text(name); ok {
		return []string{s}, true
	}
	var all []string
	raw, there := c[name]
	return all, there && json.Unmarshal(raw, &all) == nil && all != nil
}

// when returns a NumericDate. An invalid time is an error, not a missing one.
func (c claims) when(name string) (time.Time, error) {
	raw, there := c[name]
	if !there {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || string(raw) == "null" || seconds <= 0 || seconds > 1e11 {
		return time.Time{}, invalid("%s is not a time", name)
	}
	return time.UnixMilli(int64(seconds * 1000)), nil
}

// checkAudience checks that aud contains one of accepted.
func (c claims) checkAudience(accepted []string) error {
	audiences, ok := c.texts("aud")
	if !ok {
		return invalid("the token has no audience (aud)")
	}
	for _, aud := range audiences {
		if slices.ContainsFunc(accepted, func(our string) bool { return sameResource(aud, our) }) {
			return nil
		}
	}
	return invalid("the token is for another resource (aud)")
}

// sameResource compares byte for byte, but ignores the slash after a host
// without a path, which some issuers add.
func sameResource(aud, our string) bool {
	if aud == our {
		return true
	}
	_, rest, isURL := strings.Cut(strings.TrimSuffix(our, "/"), "://")
	return isURL && !strings.Contains(rest, "/") && strings.TrimSuffix(aud, "/") == strings.TrimSuffix(our, "/")
}

// checkTimes checks the times and returns the expiry; zero means that there
// is none.
func (c claims) checkTimes(now time.Time) (time.Time, error) {
	var at [3]time.Time
	for i, name := range []string{"exp", "nbf", "iat"} {
		var err error
		if at[i], err = c.when(name); err != nil {
			return time.Time{}, err
		}
	}
	expires, from, issued := at[0], at[1], at[2]
	switch {
	case !expires.IsZero() && !now.Before(expires.Add(skew)):
		return expires, invalid("the token has expired")
	case from.After(now.Add(skew)):
		return expires, invalid("the token is not valid yet (nbf)")
	case issued.After(now.Add(skew)):
		return expires, invalid("the token was issued in the future (iat)")
	}
	return expires, nil
}

// scopes returns scope, or scp, which some issuers use instead.
func (c claims) scopes() []string {
	if s, ok := c.text("scope"); ok {
		return splitScopes(s)
	}
	var all []string
	many, _ := c.texts("scp")
	for _, s := range many {
		all = append(all, splitScopes(s)...)
	}
	return all
}

// subject returns the subject of the token. A client that acts for itself
// may have no sub; its name gets a prefix, so that it is distinct from
// users.
func (c claims) subject() (string, error) {
	if sub, ok := c.text("sub"); ok && sub != "" {
		return sub, nil
	}
	if id, ok := c.text("client_id"); ok && id != "" {
		return "client_id:" + id, nil
	}
	return "", invalid("the token has no subject (sub)")
}

// boundTo returns the key thumbprint of cnf. An unknown binding is an error.
func (c claims) boundTo() (thumbprint string, err error) {
	raw, there := c["cnf"]
	if !there {
		return "", nil
	}
	var cnf claims
	if json.Unmarshal(raw, &cnf) != nil || len(cnf) != 1 {
		return "", invalid("the token has an unsupported binding (cnf)")
	}
	jkt, ok := cnf.text("jkt")
	if !ok || jkt == "" {
		return "", invalid("the token has an unsupported binding (cnf)")
	}
	return jkt, nil
}

// identity returns the Identity of a token that is valid now.
func (c claims) identity(issuer string, now time.Time) (*Identity, error) {
	expires, err := c.checkTimes(now)
	if err != nil {
		return nil, err
	}
	id := &Identity{Expires: expires}
	if id.Principal.ID, err = c.subject(); err != nil {
		return nil, err
	}
	if id.KeyThumbprint, err = c.boundTo(); err != nil {
		return nil, err
	}
	id.Principal.Issuer = issuer
	id.Principal.Scopes = c.scopes()
	id.Principal.Claims = maps.Clone(c)
	return id, nil
}
