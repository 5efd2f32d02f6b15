package modern

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

func newKeys(t testing.TB, secrets ...string) *Keys {
	t.Helper()
	var raw [][]byte
	for _, s := range secrets {
		raw = append(raw, []byte(s))
	}
	k, err := NewKeys(time.Hour, raw...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func askingCall() *mcp.Call {
	return &mcp.Call{
		Method: mcp.MethodToolsCall, Params: raw(`{"name":"t","arguments":{"a":1,"b":[{"c":"é","d":2}]}}`),
		Caller: mcp.Caller{Principal: &mcp.Principal{Issuer: "i", ID: "p"}},
	}
}

const secretOne, secretTwo = "0123456789abcdef", "fedcba9876543210"

var kept = map[string]json.RawMessage{"k": raw(`{"action":"accept","content":{"s":"<&>\u2028"}}`)}

func sealOne(t testing.TB, k *Keys, c *mcp.Call, state string) string {
	t.Helper()
	s, err := k.seal(&mcp.InputRequired{State: state, PriorResponses: kept, Requests: map[string]mcp.InputRequest{"q": {}}}, c, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealRoundTrip(t *testing.T) {
	k := newKeys(t, secretOne)
	for _, state := range []string{"", "a text that must not be read", "\x00\xff\xfe not a text", strings.Repeat("x", 100_000)} {
		sealed := sealOne(t, k, askingCall(), state)
		plain, err := base64.RawURLEncoding.DecodeString(sealed)
		if err != nil {
			plain = []byte(sealed)
		}
		if len(state) > 12 && (strings.Contains(sealed, state[:12]) || bytes.Contains(plain, []byte(state[:12]))) {
			t.Errorf("the state can be read: %.80s", sealed)
		}
		got, answers, err := k.open(sealed, askingCall())
		if err != nil || got != state {
			t.Errorf("%.20q came back as %.20q: %v", state, got, err)
		}
		var a, b any
		if json.Unmarshal(answers["k"], &a) != nil || json.Unmarshal(kept["k"], &b) != nil || len(answers) != 1 {
			t.Errorf("the kept answers came back as %s", answers)
		}
		if x, y := a.(map[string]any)["content"], b.(map[string]any)["content"]; x.(map[string]any)["s"] != y.(map[string]any)["s"] {
			t.Errorf("kept %v, got %v", y, x)
		}
	}
	nothing, err := k.seal(&mcp.InputRequired{Requests: map[string]mcp.InputRequest{"q": {}}}, askingCall(), "")
	if nothing != "" || err != nil {
		t.Errorf("nothing to keep was sealed as %q, %v", nothing, err)
	}
	// A round without questions must still say something.
	if bare, err := k.seal(&mcp.InputRequired{}, askingCall(), ""); bare == "" || err != nil {
		t.Errorf("a bare round was sealed as %q, %v", bare, err)
	}
	if a, b := sealOne(t, k, askingCall(), "s"), sealOne(t, k, askingCall(), "s"); a == b {
		t.Error("the same state is sealed the same way twice")
	}
}

func TestTamperedStatesAreRefused(t *testing.T) {
	k := newKeys(t, secretOne)
	sealed := sealOne(t, k, askingCall(), "state")
	bytes, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(s string) {
		t.Helper()
		_, _, err := k.open(s, askingCall())
		wantCode(t, err, mcp.CodeInvalidParams)
		if err != nil && err.Error() != errState.Error() {
			t.Errorf("the error says why: %v", err)
		}
	}
	for i := range bytes {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bytes[i] ^= flip
			refused(base64.RawURLEncoding.EncodeToString(bytes))
			bytes[i] ^= flip
		}
		refused(base64.RawURLEncoding.EncodeToString(bytes[:i]))
	}
	for i := range sealed {
		for _, b := range []string{"A", "B", "_", "=", "\n", "é"} {
			if string(sealed[i]) != b {
				refused(sealed[:i] + b + sealed[i+1:])
			}
		}
	}
	for _, s := range []string{"", "AAAA", "!", strings.Repeat("A", 1<<20), sealed + sealed, sealed + "AAAA", "stolen"} {
		refused(s)
	}
}

func TestStatesBelongToTheirCall(t *testing.T) {
	k := newKeys(t, secretOne)
	sealed := sealOne(t, k, askingCall(), "state")
	for name, c := range map[string]struct {
		change func(c *mcp.Call)
		ok     bool
	}{
		"same":                {func(*mcp.Call) {}, true},
		"order of members":    {func(c *mcp.Call) { c.Params = raw(`{"arguments" : {"b":[{"d":2,"c":"\u00e9"}],"a":1},"name":"t"}`) }, true},
		"other scopes":        {func(c *mcp.Call) { c.Caller.Principal = &mcp.Principal{Issuer: "i", ID: "p", Scopes: []string{"x"}} }, true},
		"other principal":     {func(c *mcp.Call) { c.Caller.Principal = &mcp.Principal{Issuer: "i", ID: "q"} }, false},
		"other issuer":        {func(c *mcp.Call) { c.Caller.Principal = &mcp.Principal{Issuer: "j", ID: "p"} }, false},
		"nobody":              {func(c *mcp.Call) { c.Caller.Principal = nil }, false},
		"other method":        {func(c *mcp.Call) { c.Method = mcp.MethodPromptsGet }, false},
		"other argument":      {func(c *mcp.Call) { c.Params = raw(`{"name":"t","arguments":{"a":2,"b":[{"c":"é","d":2}]}}`) }, false},
		"one argument more":   {func(c *mcp.Call) { c.Params = raw(`{"name":"t","arguments":{"a":1,"b":[{"c":"é","d":2}],"e":null}}`) }, false},
		"order of elements":   {func(c *mcp.Call) { c.Params = raw(`{"name":"t","arguments":{"a":1,"b":["é",2]}}`) }, false},
		"a string for number": {func(c *mcp.Call) { c.Params = raw(`{"name":"t","arguments":{"a":"1","b":[{"c":"é","d":2}]}}`) }, false},
		"no params":           {func(c *mcp.Call) { c.Params = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			call := askingCall()
			c.change(call)
			if _, _, err := k.open(sealed, call); (err == nil) != c.ok {
				t.Errorf("opening: %v", err)
			}
		})
	}
}

func TestStatesExpire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := newKeys(t)
		sealed := sealOne(t, k, askingCall(), "state")
		time.Sleep(time.Hour)
		if _, _, err := k.open(sealed, askingCall()); err != nil {
			t.Errorf("within its time: %v", err)
		}
		time.Sleep(2 * time.Second)
		if _, _, err := k.open(sealed, askingCall()); err == nil {
			t.Error("it opens after its time")
		}
	})
}

func TestKeyRing(t *testing.T) {
	one, two, both := newKeys(t, secretOne), newKeys(t, secretTwo), newKeys(t, secretTwo, secretOne)
	sealed := sealOne(t, one, askingCall(), "state")
	opens := func(k *Keys, s string) bool {
		state, _, err := k.open(s, askingCall())
		return err == nil && state == "state"
	}
	if !opens(newKeys(t, secretOne), sealed) {
		t.Error("another process with the same secret cannot open it")
	}
	if opens(two, sealed) || opens(newKeys(t), sealed) {
		t.Error("a foreign key opens it")
	}
	if !opens(both, sealed) {
		t.Error("an older key of the ring does not open it")
	}
	if s := sealOne(t, both, askingCall(), "state"); !opens(two, s) || opens(one, s) {
		t.Error("the first key of the ring is not the one that seals")
	}
	for i := range 8 {
		if !opens(one, sealed) {
			t.Errorf("it does not open after %d rotations", i)
		}
		if err := one.Rotate([]byte(strings.Repeat(string(rune('a'+i)), 16))); err != nil {
			t.Fatal(err)
		}
	}
	if opens(one, sealed) {
		t.Error("a key that should be forgotten still opens")
	}
	if _, err := NewKeys(time.Hour, []byte("short")); err == nil {
		t.Error("a short secret was taken")
	}
}

func TestOversizeStateIsRefused(t *testing.T) {
	k := newKeys(t)
	_, err := k.seal(&mcp.InputRequired{State: strings.Repeat("x", maxState)}, askingCall(), "")
	wantCode(t, err, mcp.CodeInternal)
	big := maps.Clone(kept)
	big["big"] = raw(`"` + strings.Repeat("x", maxState) + `"`)
	_, err = k.seal(&mcp.InputRequired{PriorResponses: big}, askingCall(), "")
	wantCode(t, err, mcp.CodeInvalidParams) // the client brought it
}
