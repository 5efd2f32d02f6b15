package login

import (
	"strings"
	"testing"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
)

// A person logs in with a real browser; the client had to introduce itself by
// dynamic registration. Then one tool needs more than was granted: the person
// is asked again, for both scopes, and the call goes on.
func TestLoginAndStepUp(t *testing.T) {
	p := startProvider(t, told{})
	ada := newPerson(t, "ada")
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	c := dial(t, url, &authlogin.Options{ClientName: "Weather desk", Loopback: ada.loopback()})

	says(t, c, "read", "read by ada")
	first := ada.seen(t, 1)[0]
	if !first.askedWho || !strings.Contains(first.consent, "read") || strings.Contains(first.consent, "write") {
		t.Errorf("the first login was about something else: %+v", first)
	}
	if !strings.Contains(first.end, "You are logged in") {
		t.Errorf("at the end the browser shows %q", first.end)
	}
	if !strings.Contains(first.consent, "Weather desk") {
		t.Logf("the page for consent does not show the name of the client: %q", first.consent)
	}

	says(t, c, "write", "write by ada")
	second := ada.seen(t, 2)[1]
	if second.askedWho || !strings.Contains(second.consent, "write") {
		t.Errorf("the step up was about something else: %+v", second)
	}
	says(t, c, "read", "read by ada")
	says(t, c, "write", "write by ada")
	ada.seen(t, 2)

	grants := p.granted("authorization_code")
	if len(grants) != 2 || !hasScopes(grants[0], "read") || hasScopes(grants[0], "write") || !hasScopes(grants[1], "read", "write") {
		t.Errorf("granted: %+v", grants)
	}
	if grants[0].Client != grants[1].Client {
		t.Errorf("the client has registered twice: %+v", grants)
	}
	for _, g := range grants {
		if g.Resource != url {
			t.Errorf("a token was asked for resource %v instead of %s", g.Resource, url)
		}
	}
}

func hasScopes(e event, want ...string) bool {
	for _, w := range want {
		if !strings.Contains(" "+e.Scope+" ", " "+w+" ") {
			return false
		}
	}
	return true
}
