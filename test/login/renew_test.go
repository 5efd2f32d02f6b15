package login

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/client"
)

// Tokens that live a few seconds are refreshed, and the refresh token changes
// each time. Twenty calls that find their token at its end make one refresh.
// The person is not asked again.
func TestRefresh(t *testing.T) {
	t.Parallel()
	const life = 10 * time.Second // in which twenty calls are made even on a busy machine
	p := startProvider(t, told{TTL: int(life / time.Second)})
	ada := newPerson(t, "ada")
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	store := &shelf{}
	c := dial(t, url, &authlogin.Options{Loopback: ada.loopback(), Store: store})
	says(t, c, "read", "read by ada")

	used := map[string]bool{store.token().Refresh: true}
	for round := 1; round <= 2; round++ {
		time.Sleep(life + time.Second/2) // the provider has a clock of its own
		errs := make(chan error, 20)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				_, err := client.Call[string](t.Context(), c, "read", nil, nil)
				errs <- err
			})
		}
		calls.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if n := len(p.granted("refresh_token", round)); n != round {
			t.Fatalf("%d refreshes after round %d", n, round)
		}
		now := store.token().Refresh
		if now == "" || used[now] {
			t.Fatalf("round %d: the refresh token has not changed", round)
		}
		used[now] = true
	}
	if bad := p.refused("refresh_token", 0); len(bad) > 0 {
		t.Errorf("refused: %+v", bad)
	}
	ada.seen(t, 1)
}

// introspected protects a server that asks the provider about every token, each
// time.
func introspected(t *testing.T, p *provider) func(*protect.Options) {
	t.Helper()
	return func(o *protect.Options) {
		f := fetch.New(&fetch.Options{AllowLoopback: true})
		t.Cleanup(f.Close)
		verifier, err := protect.Introspection(&protect.IntrospectionOptions{
			Endpoint: p.issuer + "/token/introspection", Issuer: p.issuer, Audiences: []string{o.Resource},
			ClientID: "resource-server", ClientSecret: "the secret of the resource server",
			CacheFor: -1, Fetch: f,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Verifier = verifier
	}
}

// A token that was revoked is refused at once by a server that asks. Its
// refresh token is refused, too, and the person logs in anew, once.
func TestRevoked(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	ada := newPerson(t, "ada")
	address := protected(t, p, "/opaque/mcp", readAndWrite(), introspected(t, p))
	store := &shelf{}
	c := dial(t, address, &authlogin.Options{Loopback: ada.loopback(), Store: store})
	says(t, c, "read", "read by ada")
	old := store.token()
	if strings.Count(old.Access, ".") == 2 {
		t.Fatal("the token is a JWT; this test wants one that means nothing by itself")
	}
	ada.seen(t, 1)

	for _, token := range []string{old.Refresh, old.Access} {
		res, err := http.PostForm(p.issuer+"/token/revocation", url.Values{"token": {token}, "client_id": {old.ClientID}})
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("revoke: %s", res.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	says(t, c, "read", "read by ada")
	if v := ada.seen(t, 2)[1]; v.askedWho {
		t.Errorf("the browser has forgotten who is before it: %+v", v)
	}
	if n := len(p.refused("refresh_token", 1)); n != 1 {
		t.Errorf("%d refreshes were refused instead of 1", n)
	}
	if store.token().Access == old.Access {
		t.Error("the token is the one that was revoked")
	}
	says(t, c, "write", "write by ada") // steps up with opaque tokens, too
	ada.seen(t, 3)
}

// A token for one server is refused by another that trusts the same provider,
// and so is one that nobody has signed.
func TestWrongAudience(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	ada := newPerson(t, "ada")
	here := protected(t, p, "/mcp", readAndWrite(), nil)
	there := protected(t, p, "/mcp", readAndWrite(), nil)
	asking := protected(t, p, "/opaque/mcp", readAndWrite(), introspected(t, p))
	store := &shelf{}
	c := dial(t, here, &authlogin.Options{Loopback: ada.loopback(), Store: store})
	says(t, c, "read", "read by ada")
	opaque := &shelf{}
	says(t, dial(t, asking, &authlogin.Options{Loopback: ada.loopback(), Store: opaque}), "read", "read by ada")

	token := store.token().Access
	parts := strings.Split(token, ".")
	for _, try := range []struct {
		name, url, token string
		status           int
	}{
		{"its own server", here, token, 200},
		{"another server", there, token, 401},
		{"a server that asks", asking, token, 401},
		{"a token of another kind", here, opaque.token().Access, 401},
		{"no signature", here, parts[0] + "." + parts[1] + ".", 401},
		{"the signature of another text", here, parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), 401},
	} {
		status, header, text := post(t, try.url, "read", http.Header{"Authorization": {"Bearer " + try.token}})
		if status != try.status || strings.Contains(text, "read by") != (status == 200) {
			t.Errorf("%s: %d %s", try.name, status, text)
		}
		if challenge := header.Get("WWW-Authenticate"); status == 401 && !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s: the challenge is %s", try.name, challenge)
		}
	}
}
