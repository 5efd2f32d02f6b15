package server

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

const headerSchema = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},
	"level":{"type":"integer","x-mcp-header":"Level"},
	"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
	"where":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},
	"plain":{"type":"string"}}}`

// Whoever routes by a header must see what the tool sees.
func TestHeadersAgreeWithArguments(t *testing.T) {
	headers, err := headersOf(json.RawMessage(headerSchema))
	if err != nil {
		t.Fatal(err)
	}
	if len(headers) != 4 {
		t.Fatalf("found %d headers, want 4", len(headers))
	}
	tl := &tool{headers: headers}
	type h = map[string]string
	for _, c := range []struct {
		name  string
		given h
		args  string
		ok    bool
	}{
		{"no headers on this transport", nil, `{"region":"eu"}`, true},
		{"nothing given, nothing said", h{}, `{}`, true},
		{"no arguments at all", h{}, ``, true},
		{"an argument that needs none", h{}, `{"plain":"x"}`, true},
		{"a header that no argument has", h{"other": "x"}, `{}`, true},

		{"text", h{"region": "eu"}, `{"region":"eu"}`, true},
		{"text with escapes", h{"region": "eü"}, `{"region":"e\u00fc"}`, true},
		{"text, other case", h{"region": "EU"}, `{"region":"eu"}`, false},
		{"empty text", h{"region": ""}, `{"region":""}`, true},
		{"empty text without a header", h{}, `{"region":""}`, false},
		{"header missing", h{}, `{"region":"eu"}`, false},
		{"argument missing", h{"region": "eu"}, `{}`, false},
		{"argument null, header absent", h{}, `{"region":null}`, true},
		{"argument null, header there", h{"region": "null"}, `{"region":null}`, false},

		{"integer", h{"level": "42"}, `{"level":42}`, true},
		{"integer with a point in the header", h{"level": "42.0"}, `{"level":42}`, true},
		{"integer with a point in the body", h{"level": "42"}, `{"level":42.0}`, true},
		{"integer with an exponent in the body", h{"level": "42"}, `{"level":4.2e1}`, true},
		{"negative integer", h{"level": "-7"}, `{"level":-7}`, true},
		{"zero", h{"level": "0"}, `{"level":0}`, true},
		{"the largest", h{"level": "9007199254740991"}, `{"level":9007199254740991}`, true},
		{"another integer", h{"level": "43"}, `{"level":42}`, false},
		{"the smallest", h{"level": "-9007199254740991"}, `{"level":-9007199254740991}`, true},
		{"minus zero", h{"level": "-0"}, `{"level":0.0}`, true},
		// L24: no header carries an integer that not everybody can tell from its neighbours
		{"beyond the largest", h{"level": "9007199254740992"}, `{"level":9007199254740992}`, false},
		{"beyond the largest, the row", h{"level": "9007199254740993"}, `{"level":9007199254740993}`, false},
		{"beyond the smallest", h{"level": "-9007199254740992"}, `{"level":-9007199254740992}`, false},
		{"beyond 64 bits", h{"level": "36893488147419103232"}, `{"level":36893488147419103232}`, false},
		{"beyond the largest, no header", h{}, `{"level":9007199254740993}`, false},
		{"beyond the largest, in an exponent", h{"level": "10000000000000000"}, `{"level":1e16}`, false},
		{"beyond the largest on a transport without headers", nil, `{"level":9007199254740993}`, true},
		{"one apart beyond what all can tell apart", h{"level": "9007199254740993"}, `{"level":9007199254740992}`, false},
		{"leading zero", h{"level": "042"}, `{"level":42}`, false},
		{"exponent", h{"level": "4.2e1"}, `{"level":42}`, false},
		{"plus", h{"level": "+42"}, `{"level":42}`, false},
		{"hexadecimal", h{"level": "0x2a"}, `{"level":42}`, false},
		{"underscore", h{"level": "4_2"}, `{"level":42}`, false},
		{"point without zeros", h{"level": "42."}, `{"level":42}`, false},
		{"fraction", h{"level": "42.5"}, `{"level":42.5}`, false},
		{"infinite", h{"level": "Inf"}, `{"level":1e999}`, false},
		{"empty", h{"level": ""}, `{"level":0}`, false},

		{"true", h{"dry-run": "true"}, `{"dry":true}`, true},
		{"false", h{"dry-run": "false"}, `{"dry":false}`, true},
		{"True", h{"dry-run": "True"}, `{"dry":true}`, false},
		{"1 for true", h{"dry-run": "1"}, `{"dry":true}`, false},

		{"nested", h{"zone": "a"}, `{"where":{"zone":"a"}}`, true},
		{"nested, other", h{"zone": "b"}, `{"where":{"zone":"a"}}`, false},
		{"nested, missing", h{}, `{"where":{"zone":"a"}}`, false},
		{"nested, outside is missing", h{}, `{"where":{}}`, true},
		{"nested, outside is no object", h{}, `{"where":"zone"}`, true},
	} {
		err := tl.checkHeaders(c.given, json.RawMessage(c.args))
		if (err == nil) != c.ok {
			t.Errorf("%s: headers %v with %s: %v", c.name, c.given, c.args, err)
		}
		if e, ok := errors.AsType[*mcp.Error](err); err != nil && (!ok || e.Code != mcp.CodeHeaderMismatch) {
			t.Errorf("%s: %v is not a header mismatch", c.name, err)
		}
	}
}

// A tool whose headers cannot be sent is refused when it is added.
func TestHeadersOfRefusesBadSchema(t *testing.T) {
	for _, bad := range []string{
		`{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`,
		`{"type":"object","properties":{"a":{"type":"number","x-mcp-heade\u0072":"A"}}}`,
	} {
		if got, err := headersOf(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: taken as %v", bad, got)
		}
	}
}
