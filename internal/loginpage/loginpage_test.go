package loginpage

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Nothing in a page is markup except what this package writes, and a page can
// neither be framed nor load anything.
func TestPagesAreInert(t *testing.T) {
	const evil = `"><script>alert(1)</script><a href='//evil.example'>`
	w := httptest.NewRecorder()
	Page{Kind: evil, Title: evil, Text: evil, Note: evil, Form: &Form{Hidden: map[string]string{evil: evil}, Secret: evil, Button: evil}}.Write(w, 200)
	if body := w.Body.String(); strings.Contains(body, "<script") || strings.Contains(body, "<a ") || strings.Count(body, "&lt;script&gt;") != 9 {
		t.Errorf("%s", body)
	}
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("%q is not in %q", want, csp)
		}
	}
	if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", w.Header())
	}
	w = httptest.NewRecorder()
	Page{Kind: Done, Title: "a", Text: "b"}.Write(w, 404)
	if w.Code != 404 || !strings.Contains(w.Header().Get("Content-Security-Policy"), "form-action 'none'") || strings.Contains(w.Body.String(), "<form") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
