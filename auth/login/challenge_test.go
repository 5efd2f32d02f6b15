package login

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestReadChallenge(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields []string
		want   challenge
	}{
		{"none", nil, challenge{}},
		{"bare", []string{"Bearer"}, challenge{bearer: true}},
		{"usual", []string{`Bearer resource_metadata="https://a/b?c=d,e", scope="x y"`}, challenge{bearer: true, metadata: "https://a/b?c=d,e", scope: "x y"}},
		{"case", []string{`bEaReR Error="insufficient_scope", SCOPE=x`}, challenge{bearer: true, err: "insufficient_scope", scope: "x"}},
		{"no quotes around a URL", []string{`Bearer resource_metadata=https://a/b?c=d, scope=x`}, challenge{bearer: true, metadata: "https://a/b?c=d", scope: "x"}},
		{"escapes", []string{`Bearer scope="a\"b"`}, challenge{bearer: true, scope: `a"b`}},
		{"others around", []string{`Negotiate YWJj==, Basic realm="Bearer scope=evil", Bearer scope="x", Digest nonce="1", scope="no"`}, challenge{bearer: true, scope: "x"}},
		{"several fields", []string{`Basic realm="x"`, `Bearer scope="y"`}, challenge{bearer: true, scope: "y"}},
		{"the first of two", []string{`Bearer scope="y"`, `Bearer scope="z"`}, challenge{bearer: true, scope: "y"}},
		{"the first value", []string{`Bearer scope="y", scope="z"`}, challenge{bearer: true, scope: "y"}},
		{"DPoP", []string{`DPoP error="use_dpop_nonce", resource_metadata="u"`}, challenge{dpop: true, err: "use_dpop_nonce", metadata: "u"}},
		{"DPoP after Bearer", []string{`Bearer scope="b", DPoP scope="d"`}, challenge{dpop: true, bearer: true, scope: "d"}},
		{"DPoP before Bearer", []string{`DPoP scope="d"`, `Bearer scope="b"`}, challenge{dpop: true, bearer: true, scope: "d"}},
		{"not closed", []string{`Bearer scope="x`}, challenge{bearer: true}},
		{"noise", []string{`,,;;"" =, Bearer , ,scope="x" ,`}, challenge{bearer: true, scope: "x"}},
		{"spaces around =", []string{`Bearer scope = "x"`}, challenge{bearer: true, scope: "x"}},
		{"other scheme only", []string{`Basic scope="x"`}, challenge{}},
		{"too long", []string{strings.Repeat("Basic, ", 4000) + `Bearer scope="x"`}, challenge{}},
	} {
		got := readChallenge(http.Header{"Www-Authenticate": test.fields})
		got.schemes = nil
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer scope="x y", resource_metadata=https://a/b`)
	f.Add(`Negotiate abc==, DPoP error="use_dpop_nonce"`)
	f.Add(`="\`)
	f.Fuzz(func(t *testing.T, field string) {
		all := parseChallenges([]string{field})
		if len(all) > maxChallenges {
			t.Fatalf("%d challenges", len(all))
		}
		for _, c := range all {
			if c.scheme == "" || len(c.params) > maxChallengeParams {
				t.Fatalf("%+v", c)
			}
		}
	})
}
