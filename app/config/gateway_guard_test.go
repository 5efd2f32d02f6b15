package config

import (
	"strings"
	"testing"
)

func TestGatewayGuardSettings(t *testing.T) {
	g := newWorld(t).user(`{"gateway": {
		"pins": {"file": "p.json", "new": "hold", "suspicious": "hold"},
		"maxResult": "2 MiB",
		"redact": {"patterns": ["ACME-[0-9]+"], "tokens": true}
	}}`).load().Settings().Gateway
	if g.Pins != (GatewayPins{On: true, File: "p.json", HoldNew: true, HoldSuspicious: true}) || g.MaxResult != 2<<20 || !g.Redact.Tokens || !g.Redact.Patterns[0].MatchString("ACME-1") {
		t.Errorf("%+v", g)
	}
	if g := newWorld(t).user(`{"gateway": {"pins": {}, "redact": false, "maxResult": 1000}}`).load().Settings().Gateway; g.Pins != (GatewayPins{On: true}) || !g.Redact.Off || g.MaxResult != 1000 {
		t.Errorf("%+v", g)
	}
	for text, want := range map[string]string{
		`{"pins": {"new": "ask"}}`:            `must be "allow" or "hold", not "ask"`,
		`{"pins": {"New": "hold"}}`:           `did you mean "new"?`,
		`{"pins": true}`:                      "must be an object",
		`{"maxResult": "4 GB"}`:               "a number of bytes",
		`{"maxResult": 0}`:                    "a number of bytes",
		`{"maxResult": "99999999999999 MiB"}`: "a number of bytes",
		`{"redact": {"patterns": ["("]}}`:     "regular expression",
		`{"redact": {"patterns": ["x*"]}}`:    "empty text",
		`{"redact": {"token": true}}`:         `did you mean "tokens"?`,
		`{"redacts": {}}`:                     `did you mean "redact"?`,
	} {
		_, err := Load(&newWorld(t).user(`{"gateway": ` + text + `}`).o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
