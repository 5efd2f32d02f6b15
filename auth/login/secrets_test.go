package login

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

// However they are printed, what holds secrets shows none.
func TestSecretsDoNotPrint(t *testing.T) {
	key, err := ParseKey(pemOf(t, newEC(t)), "", "")
	if err != nil {
		t.Fatal(err)
	}
	store := &tokens.Memory{}
	if err := store.Save(t.Context(), "k", tokens.Secret("hidden-5")); err != nil {
		t.Fatal(err)
	}
	client := Client{ID: "id", Secret: "hidden-1", Key: key}
	values := []any{
		client, &client, key,
		&ClientCredentials{Client: client}, ClientCredentials{Client: client},
		&Enterprise{Client: client, IDPClient: client},
		&token{Access: "hidden-2", Refresh: "hidden-3"},
		&grantedToken{AccessToken: "hidden-4"}, grantedToken{AccessToken: "hidden-4"},
		tokens.Secret("hidden-5"), store,
		New(&Options{Client: &client, Store: store}),
		Options{Client: &client, Store: store}, &Options{Client: &client, Store: store},
		&http.Client{Transport: New(&Options{Client: &client, Store: store})},
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range []string{"hidden", fmt.Sprintf("%x", "hidden"), "104 105 100 100", "0x68, 0x69"} {
				if strings.Contains(text, secret) {
					t.Errorf("%T with %s: %s", v, verb, text)
				}
			}
		}
		logger.LogAttrs(context.Background(), slog.LevelInfo, "x", slog.Any("v", v))
	}
	if strings.Contains(log.String(), "hidden") {
		t.Errorf("the log has a secret: %s", log.String())
	}
}

// An authorization server that repeats what it was sent does not get it into an
// error, and neither do answers that cannot be read.
func TestErrorsShowNoSecret(t *testing.T) {
	for name, body := range map[string]any{
		"not JSON enough": []string{"access-9"},
		"no token":        map[string]any{"refresh_token": "refresh-9"},
		"line feed":       map[string]any{"access_token": "access-9\nX: y", "token_type": "Bearer"},
		"wrong type":      map[string]any{"access_token": "access-9", "token_type": "mac"},
		"a number":        map[string]any{"access_token": 1, "refresh_token": "refresh-9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tokens = func(url.Values, http.Header) (int, any) { return 200, body }
			w.wantError(w.client(func(o *Options) { o.Client = &Client{ID: "x", Secret: "given-secret"} }), "")
		})
	}
	w := newWorld(t)
	w.tokens = func(url.Values, http.Header) (int, any) { return 500, "access-9" }
	w.wantError(w.client(nil), "status 500")
}
