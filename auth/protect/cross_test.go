package protect

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/mcp"
)

// CVE-2026-25536, CVE-2026-48529: fifty users with two tokens each, 100,000
// calls (fewer under the race detector) at once through all verifiers and their
// caches. Nobody is ever taken for
// somebody else, and no scope is ever another's.
func TestNoCrossedIdentity(t *testing.T) {
	const users = 50
	calls := racetest.Size(100_000, 10_000)
	is := newIssuer(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is.publish(jwk("ed", public))
	is.about = func(token string) (int, string) {
		user, ok := strings.CutPrefix(token, "opaque-")
		if !ok {
			return 200, `{"active":false}`
		}
		return 200, fmt.Sprintf(`{"active":true,"sub":%q,"aud":%q,"scope":"opaque %s"}`, user, resource, user)
	}
	signed, err := JWT(&JWTOptions{Issuer: is.url, Audiences: []string{resource}, Fetch: fetcher(t)})
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := newIntrospector(t, is, nil)
	keys := map[string]mcp.Principal{}
	type credential struct{ token, want string }
	var all []credential
	for i := range users {
		user := fmt.Sprint("user-", i)
		jwt := sign(jose.EdDSA, private, map[jose.HeaderKey]any{"kid": "ed"}, is.goodClaims(map[string]any{"sub": user, "scope": "jwt " + user}))
		all = append(all, credential{jwt, user + " jwt " + user + " " + is.url})
		if i%2 == 0 {
			all = append(all, credential{"opaque-" + user, user + " opaque " + user + " " + is.url})
			continue
		}
		key := fmt.Sprintf("key-%s-%040d", user, i)
		hash, err := HashKey(key)
		if err != nil {
			t.Fatal(err)
		}
		keys[hash] = mcp.Principal{ID: user, Scopes: []string{"key", user}}
		all = append(all, credential{key, user + " key " + user + " api-key"})
	}
	known, err := APIKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(&Options{Resource: resource, AuthorizationServers: []string{is.url}, Verifier: AnyOf(known, signed, asked),
		Require: func(_, name string) []string { return []string{name} }}) // a user may call the tool of that name only
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := Principal(r)
		fmt.Fprint(w, who.ID, " ", strings.Join(who.Scopes, " "), " ", who.Issuer)
		who.Scopes[0] = "spoilt" // must stay with this request
		clear(who.Claims)
	}))
	var wg sync.WaitGroup
	for n := range len(all) {
		wg.Go(func() {
			user, _, _ := strings.Cut(all[n].want, " ")
			for i := range calls / len(all) {
				body, status, want := fmt.Sprintf(`{"method":"tools/call","params":{"name":%q}}`, user), 200, all[n].want
				if i%10 == 9 {
					body, status = fmt.Sprintf(`{"method":"tools/call","params":{"name":"user-%d"}}`, (n/2+1)%users), 403
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, post(body, "Authorization: Bearer "+all[n].token))
				if w.Code != status || status == 200 && w.Body.String() != want {
					t.Errorf("%s got %d %q", want, w.Code, w.Body)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := is.asked.Load(); n > users {
		t.Logf("%d questions for %d opaque tokens", n, users/2)
	}
}
