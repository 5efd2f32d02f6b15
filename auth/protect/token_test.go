package protect

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// G06: a handler gets the token only if the options say so, and never by accident.
func TestTokenIsKeptOnlyForExchange(t *testing.T) {
	is := newIssuer(t)
	token := is.token(nil)
	for _, keep := range []bool{false, true} {
		g, _ := guarded(t, is, func(o *Options) { o.KeepToken = keep })
		var seen context.Context
		h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Context() }))
		expect(t, do(h, post("{}", "Authorization: Bearer "+token)), 200)
		want := ""
		if keep {
			want = token
		}
		if got := Token(seen); got != want {
			t.Errorf("keep %v: got %d bytes, want %d", keep, len(got), len(want))
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ctx", seen, "value", seen.Value(tokenKey{}))
		for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", seen, seen, seen.Value(tokenKey{}), seen.Value(tokenKey{})), log.String()} {
			if strings.Contains(text, token) {
				t.Errorf("keep %v: the token is printed: %s", keep, text)
			}
		}
		if who := seen.Value(principalKey{}); strings.Contains(fmt.Sprintf("%+v", who), token) {
			t.Errorf("keep %v: the token is in the principal", keep)
		}
	}
	if Token(context.Background()) != "" {
		t.Error("a context without a request has a token")
	}
}

// A token that did not come in a header is verified like any other.
func TestIdentify(t *testing.T) {
	is := newIssuer(t)
	g, _ := guarded(t, is, nil)
	r := post("{}")
	if who, err := g.Identify(t.Context(), is.token(nil), r); err != nil || who.ID != "ada" || who.Issuer != is.url {
		t.Errorf("%+v, %v", who, err)
	}
	for name, token := range map[string]string{
		"empty": "", "spaces": "a b", "other audience": is.token(map[string]any{"aud": "https://other.example"}), "expired": is.token(map[string]any{"exp": 1}),
	} {
		if who, err := g.Identify(t.Context(), token, r); err == nil || who != nil || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}
