package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
)

// A typist logs in like a person, but fills in the forms of the provider without a
// browser.
type typist struct {
	name    string
	http    *http.Client
	refuses bool // to log in a device
}

func newTypist(t *testing.T, name string) *typist {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &typist{name: name, http: &http.Client{Jar: jar, Transport: transport}}
}

func (p *typist) loopback() *authlogin.Loopback {
	return &authlogin.Loopback{Open: p.open}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formHidden = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)"`)
)

// open goes through the pages of a login.
func (p *typist) open(page string) error {
	resp, err := p.http.Get(page)
	for range 8 {
		if err != nil {
			return err
		}
		text, err2 := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err2 != nil {
			return err2
		}
		at := resp.Request.URL
		if at.Path == "/callback" || strings.Contains(string(text), "<title>Sign-in Success</title>") {
			return nil
		}
		if p.refuses && strings.Contains(string(text), "The Sign-in request was interrupted") {
			return nil
		}
		action := formAction.FindSubmatch(text)
		if action == nil {
			return fmt.Errorf("an unknown page at %s: %s", at, text)
		}
		to, err2 := at.Parse(html.UnescapeString(string(action[1])))
		if err2 != nil {
			return err2
		}
		resp, err = p.http.PostForm(to.String(), p.fill(string(text)))
	}
	return errors.New("the pages do not come to an end")
}

// fill returns the fields of the form of a page, as a person fills it in.
func (p *typist) fill(page string) url.Values {
	form := url.Values{"login": {p.name}, "password": {"any"}}
	for _, field := range formHidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	if strings.Contains(page, "op.deviceConfirmForm") {
		form.Set(map[bool]string{false: "confirm", true: "abort"}[p.refuses], "yes")
	}
	return form
}

// machineToken returns a token that a client of the provider gets for itself.
func machineToken(t *testing.T, p *provider, id, secret, resource string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"read write"}, "resource": {resource}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Token == "" {
		t.Fatalf("%s gets no token: %d %s %v", id, resp.StatusCode, got.Error, err)
	}
	return got.Token
}
