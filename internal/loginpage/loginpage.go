// Package loginpage writes the pages that a user sees in the browser before and
// after a login. They load nothing, run no script and cannot be framed.
package loginpage

import (
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Kind is the look of a page.
type Kind string

// The kinds of pages.
const (
	Ask    Kind = "ask"
	Done   Kind = "done"
	Failed Kind = "failed"
)

// A Page is a page with a title and a text, and perhaps a form.
type Page struct {
	Kind  Kind
	Title string
	Text  string
	Note  string // below the text, smaller; empty means none
	Form  *Form  // nil means none
}

// A Form is posted to the page's own address.
type Form struct {
	Hidden map[string]string
	Secret string // the label of a password field named "secret"; empty means none
	Button string
}

// mark returns the drawing of the page, an SVG path in a 24 by 24 view box.
func (p Page) mark() string {
	switch p.Kind {
	case Done:
		return "M6 12.5l4 4 8-9"
	case Ask:
		return "M5 12h13M13 7l5 5-5 5"
	}
	return "M12 6v7.5M12 17.5v.01"
}

// style is the style sheet of all pages.
const style = `
:root { color-scheme: light dark; --ground: #f3f5f7; --card: #fff; --ink: #1c2329; --quiet: #56616b; --done: #1a7f4b; --failed: #a15c07; --ask: #1f5fbf }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --card: #1f252b; --ink: #eef1f4; --quiet: #a7b1ba; --done: #4cc38a; --failed: #f0a94b; --ask: #7fb0ff } }
body { font: 1.05rem/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 100vh; margin: 0; background: var(--ground); color: var(--ink) }
main { box-sizing: border-box; width: min(28rem, 92vw); padding: 2.5rem 2rem; text-align: center; background: var(--card); border-radius: 1rem; box-shadow: 0 1px 2px #0002, 0 8px 24px #0001 }
svg { width: 3.5rem; height: 3.5rem; margin-bottom: 1rem; padding: .6rem; border: 2px solid; border-radius: 50%; box-sizing: border-box; fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round }
.done { color: var(--done) }
.failed { color: var(--failed) }
.ask { color: var(--ask) }
h1 { font-size: 1.45rem; font-weight: 600; margin: 0 0 .5rem; overflow-wrap: anywhere }
p { margin: 0; color: var(--quiet); text-wrap: balance; overflow-wrap: anywhere }
.note { margin-top: .75rem; font-size: .9rem }
form { margin-top: 1.5rem }
label { display: block; text-align: left; font-size: .9rem; color: var(--quiet) }
input, button { font: inherit; box-sizing: border-box; width: 100%; padding: .6rem .8rem; border-radius: .5rem }
input { margin: .25rem 0 1rem; border: 1px solid var(--quiet); background: transparent; color: inherit }
button { border: 0; background: var(--ask); color: var(--card); font-weight: 600; cursor: pointer }
`

// html returns the page as HTML.
func (p Page) html() string {
	title := html.EscapeString(p.Title)
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>%s</title>
<style>%s</style></head>
<body><main><svg class="%s" viewBox="0 0 24 24" aria-hidden="true"><path d="%s"/></svg><h1>%s</h1><p>%s</p>`,
		title, style, html.EscapeString(string(p.Kind)), p.mark(), title, html.EscapeString(p.Text))
	if p.Note != "" {
		fmt.Fprintf(&b, `<p class="note">%s</p>`, html.EscapeString(p.Note))
	}
	if p.Form != nil {
		p.Form.html(&b)
	}
	b.WriteString("</main></body></html>\n")
	return b.String()
}

func (f *Form) html(b *strings.Builder) {
	b.WriteString(`<form method="post">`)
	for _, name := range slices.Sorted(maps.Keys(f.Hidden)) {
		fmt.Fprintf(b, `<input type="hidden" name="%s" value="%s">`, html.EscapeString(name), html.EscapeString(f.Hidden[name]))
	}
	if f.Secret != "" {
		fmt.Fprintf(b, `<label>%s<input type="password" name="secret" autocomplete="off" required autofocus></label>`, html.EscapeString(f.Secret))
	}
	fmt.Fprintf(b, `<button>%s</button></form>`, html.EscapeString(f.Button))
}

// Write writes a page. A page with a form may be left by a redirect to another
// site after the form was posted, which browsers count as a part of it.
func (p Page) Write(w http.ResponseWriter, status int) {
	forms := "'none'"
	if p.Form != nil {
		forms = "'self' https: http:"
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action "+forms)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.html()) // an error is one of the connection
}
