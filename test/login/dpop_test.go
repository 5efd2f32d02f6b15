package login

import (
	"net/http"
	"strings"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/protect"
)

// A server that takes only bound tokens, with nonces at both ends: login, step
// up and refresh work with a real browser, and the token alone opens nothing.
func TestDPoP(t *testing.T) {
	t.Parallel()
	const life = 12 * time.Second // in which a token is used twice even on a busy machine
	p := startProvider(t, told{Nonces: true, TTL: int(life / time.Second)})
	ada := newPerson(t, "ada")
	url := protected(t, p, "/mcp", readAndWrite(), func(o *protect.Options) {
		o.DPoP = &protect.DPoP{Required: true, Nonces: true}
	})
	store, wire := &shelf{}, &recorder{base: &http.Transport{}}
	c := dial(t, url, &authlogin.Options{Loopback: ada.loopback(), Store: store, Base: wire})
	says(t, c, "read", "read by ada")
	says(t, c, "write", "write by ada")
	ada.seen(t, 2)
	for _, grant := range p.granted("authorization_code", 2) {
		if grant.Type != "DPoP" {
			t.Errorf("granted: %+v", grant)
		}
	}
	time.Sleep(life + time.Second/2) // the provider has a clock of its own
	says(t, c, "read", "read by ada")
	if grants := p.granted("refresh_token", 1); len(grants) != 1 || grants[0].Type != "DPoP" {
		t.Errorf("refreshed: %+v", grants)
	}
	ada.seen(t, 2)

	token := store.token()
	if !token.DPoP {
		t.Fatal("the token is not bound")
	}
	used := wire.proof()
	if used == "" {
		t.Fatal("no proof was sent")
	}
	for name, header := range map[string]http.Header{
		"as a bearer token":      {"Authorization": {"Bearer " + token.Access}},
		"without a proof":        {"Authorization": {"DPoP " + token.Access}},
		"with a proof of before": {"Authorization": {"DPoP " + token.Access}, "Dpop": {used}},
	} {
		if status, _, text := post(t, url, "read", header); status != 401 || strings.Contains(text, "read by") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}
