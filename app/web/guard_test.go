package web

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Who is let in: only the browser that has the cookie, under a name of the
// loopback, from no other page.
func TestGuard(t *testing.T) {
	s := newSite(t, nil).enter()
	here := strings.TrimPrefix(s.http.URL, "http://")
	_, port, _ := strings.Cut(here, ":")
	state, restart := "/api/v1/state", "/api/v1/servers/calc/restart"
	for name, c := range map[string]struct {
		q    request
		want int
	}{
		"the page itself":                  {request{path: state, header: map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": s.http.URL}}, 200},
		"a program with the cookie":        {request{path: state}, 200},
		"no cookie":                        {request{path: state, noCookie: true}, 401},
		"no cookie, events":                {request{path: "/api/v1/events", noCookie: true}, 401},
		"no cookie, a wrong one":           {request{path: state, noCookie: true, header: map[string]string{"Cookie": s.cookie.Name + "=x"}}, 401},
		"an empty cookie":                  {request{path: state, noCookie: true, header: map[string]string{"Cookie": s.cookie.Name + "="}}, 401},
		"0.0.0.0":                          {request{path: state, host: "0.0.0.0:" + port}, 403},
		"0.0.0.0, the page":                {request{path: "/", host: "0.0.0.0:" + port}, 403},
		"[::]":                             {request{path: state, host: "[::]:" + port}, 403},
		"a rebound name":                   {request{path: state, host: "evil.example:" + port}, 403},
		"a rebound name, the page":         {request{path: "/", host: "evil.example:" + port}, 403},
		"a name that begins well":          {request{path: state, host: "localhost.evil.example:" + port}, 403},
		"a name that begins as a number":   {request{path: state, host: "127.0.0.1.evil.example:" + port}, 403},
		"localhost":                        {request{path: state, host: "localhost:" + port}, 200},
		"another origin":                   {request{path: state, header: map[string]string{"Origin": "http://evil.example"}}, 403},
		"another port":                     {request{path: state, header: map[string]string{"Origin": "http://127.0.0.1:1"}}, 403},
		"origin null":                      {request{path: state, header: map[string]string{"Origin": "null"}}, 403},
		"cross-site image":                 {request{path: state, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}}, 403},
		"same-site, another port":          {request{path: state, header: map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}}, 403},
		"a link to the API":                {request{path: state, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}}, 403},
		"a typed address of the API":       {request{path: state, header: map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}}, 403},
		"a link to the page":               {request{path: "/", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}}, 200},
		"a form of another page":           {request{method: "POST", path: restart, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415},
		"text of another page":             {request{method: "POST", path: restart, body: "{}", header: map[string]string{"Content-Type": "text/plain"}}, 415},
		"a recording as plain text":        {request{method: "POST", path: "/api/v1/wire/load", header: map[string]string{"Content-Type": "text/plain"}}, 415},
		"a form with an origin":            {request{method: "POST", path: restart, header: map[string]string{"Origin": "https://evil.example"}}, 403},
		"a change of the page itself":      {request{method: "POST", path: "/api/v1/wire/clear"}, 200},
		"a change without an origin":       {request{method: "POST", path: "/api/v1/wire/clear", noOrigin: true}, 403},
		"a wrong bearer token":             {request{method: "POST", path: "/api/v1/wire/clear", noOrigin: true, header: map[string]string{"Authorization": "Bearer x"}}, 403},
		"only a wrong bearer token":        {request{method: "POST", path: "/api/v1/wire/clear", noOrigin: true, noCookie: true, header: map[string]string{"Authorization": "Bearer "}}, 401},
		"a preflight":                      {request{method: "OPTIONS", path: restart, header: map[string]string{"Origin": "https://evil.example"}}, 403},
		"a change by GET":                  {request{path: restart}, 405},
		"a change by GET without a cookie": {request{path: restart, noCookie: true}, 401},
		"a change by HEAD":                 {request{method: "HEAD", path: restart}, 405},
		"a login by GET":                   {request{path: "/api/v1/login?token=x"}, 405},
		"PUT":                              {request{method: "PUT", path: restart, header: map[string]string{"Content-Type": "application/json", "Origin": s.http.URL}}, 405},
		"a file that is not there":         {request{path: "/etc/passwd"}, 404},
	} {
		if r := s.do(c.q); r.status != c.want {
			t.Errorf("%s: %d instead of %d: %s", name, r.status, c.want, r.body)
		}
	}
}

// Every error of the API is an object with a sentence, also that of an unknown path
// and of a wrong method.
func TestErrorsOfTheAPIAreObjects(t *testing.T) {
	s := newSite(t, nil).enter()
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/api/v1/servers/calc/restart", 405, `{"error":"use POST"}`},
		{"POST", "/api/v1/state", 405, `{"error":"use GET"}`},
		{"POST", "/api/v1/nothing", 404, `{"error":"unknown API path: see docs/api.md"}`},
		{"GET", "/api/v1/nothing", 404, `{"error":"unknown API path: see docs/api.md"}`},
		{"PUT", "/api/v1/state", 405, `{"error":"use GET"}`},
		{"DELETE", "/api/v1/servers/calc/restart", 405, `{"error":"use POST"}`},
	} {
		header := map[string]string{"Content-Type": "application/json", "Origin": s.http.URL}
		if r := s.do(request{method: c.method, path: c.path, header: header}); r.status != c.status || strings.TrimSpace(r.body) != c.want {
			t.Errorf("%s %s: %d %s; want %d %s", c.method, c.path, r.status, r.body, c.status, c.want)
		}
	}
}

// A program exchanges the token for a bearer token and needs neither a cookie nor
// an Origin; the token of the page does not work again.
func TestBearer(t *testing.T) {
	s := newSite(t, nil)
	token := s.web.Token()
	r := s.do(request{method: "POST", path: "/api/v1/login", body: `{"token":"` + token + `","bearer":true}`, noOrigin: true})
	var got struct{ Bearer string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != http.StatusOK || got.Bearer == "" || len(r.cookies) != 0 {
		t.Fatalf("the login was answered with %d, %d cookies, %q", r.status, len(r.cookies), r.body)
	}
	with := map[string]string{"Authorization": "Bearer " + got.Bearer}
	for _, q := range []request{{path: "/api/v1/state"}, {method: "POST", path: "/api/v1/wire/clear"}} {
		q.noOrigin, q.header = true, with
		if r := s.do(q); r.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", q.method, q.path, r.status, r.body)
		}
	}
	if r := s.do(request{path: "/api/v1/state", header: map[string]string{"Cookie": s.web.guard.cookie + "=" + got.Bearer}}); r.status != http.StatusUnauthorized {
		t.Errorf("the bearer token works as a cookie: %d", r.status)
	}
	foreign := request{method: "POST", path: "/api/v1/wire/clear", header: map[string]string{"Authorization": with["Authorization"], "Origin": "https://evil.example"}}
	if r := s.do(foreign); r.status != http.StatusForbidden {
		t.Errorf("another site with the bearer token: %d", r.status)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/login", body: `{"token":"` + token + `"}`}); r.status != http.StatusUnauthorized {
		t.Errorf("the token works twice: %d", r.status)
	}
}

// The token works once, and is in nothing that can be had without it.
func TestTokenWorksOnce(t *testing.T) {
	s := newSite(t, nil)
	token := s.web.Token()
	for _, wrong := range []string{"", "x", token[:len(token)-1], strings.ToLower(token)} {
		if r := s.do(request{method: "POST", path: "/api/v1/login", body: `{"token":"` + wrong + `"}`}); r.status != http.StatusUnauthorized || len(r.cookies) != 0 {
			t.Errorf("token %q: %d", wrong, r.status)
		}
	}
	s.enter()
	c := s.cookie
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || len(c.Value) < 40 || c.Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/login", body: `{"token":"` + token + `"}`, noCookie: true}); r.status != http.StatusUnauthorized {
		t.Errorf("the token works twice: %d", r.status)
	}
	if s.web.Token() != "" {
		t.Error("a used token is kept")
	}
	fresh := s.web.NewToken()
	each(t, func(name string, _ []byte) {
		r := s.do(request{path: "/" + name, noCookie: true})
		if strings.Contains(r.body, fresh) || strings.Contains(r.body, c.Value) || len(r.cookies) > 0 {
			t.Errorf("%s gives away a secret", name)
		}
	})
}

// Every answer carries the policy, and no policy allows inline code or other
// hosts.
func TestPolicyIsEverywhere(t *testing.T) {
	s := newSite(t, nil).enter()
	for _, q := range []request{{path: "/"}, {path: "/" + hostDocument().script}, {path: "/nothing"}, {path: "/api/v1/state"}, {path: "/api/v1/state", noCookie: true}, {path: "/", host: "evil.example"}, {path: "/api/v1/wire/save?server=calc"}} {
		r := s.do(q)
		policy := r.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s (%d) lacks %s", q.path, r.status, want)
			}
		}
		for _, never := range []string{"unsafe", "http:", "https:", "*"} {
			if strings.Contains(policy, never) {
				t.Errorf("%s: the policy has %s", q.path, never)
			}
		}
		if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Referrer-Policy") != "no-referrer" || r.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s lacks a header: %v", q.path, r.header)
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other pages", q.path)
		}
	}
}

func each(t *testing.T, f func(name string, data []byte)) {
	t.Helper()
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		f(name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What servers say never becomes markup or code: the page has no words for it.
func TestPageHasNoMarkupFromText(t *testing.T) {
	never := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment|DOMParser|setHTML|javascript:|\.cssText|importScripts|srcdoc\s*=`)
	inline := regexp.MustCompile(`(?i)\son\w+=|style=|<script(?:>|[^>]*>[^<])|<style|https?://`)
	scripts := 0
	each(t, func(name string, data []byte) {
		text := string(data)
		switch {
		case strings.HasSuffix(name, ".js"):
			scripts++
			for n, line := range strings.Split(text, "\n") {
				if strings.Count(line, "`")%2 == 1 {
					t.Errorf("%s:%d: a string over several lines loses its indentation when it is served", name, n+1)
				}
				if code, _, _ := strings.Cut(line, "//"); never.MatchString(code) {
					t.Errorf("%s:%d: %s", name, n+1, strings.TrimSpace(line))
				}
			}
		case strings.HasSuffix(name, ".html"):
			if at := inline.FindString(text); at != "" {
				t.Errorf("%s has %q", name, at)
			}
		case strings.HasSuffix(name, ".css"):
			if regexp.MustCompile(`@import|url\(|https?:`).MatchString(text) {
				t.Errorf("%s fetches something", name)
			}
		}
	})
	if scripts < 10 {
		t.Errorf("only %d scripts were looked at", scripts)
	}
	d := hostDocument()
	total := len(d.html) + len(d.code)
	if total > 400_000 {
		t.Errorf("script and style weigh %d bytes: 400,000 are the limit", total)
	}
	t.Logf("script and style weigh %d bytes", total)
}
