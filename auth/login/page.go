package login

import (
	"fmt"
	"net/http"
)

// A page is the final page in the browser. It contains nothing of the request.
type page struct {
	kind  string // a class of the style sheet
	mark  string // an SVG path in a 24 by 24 view box
	title string
	text  string
}

const (
	markDone   = "M6 12.5l4 4 8-9"
	markFailed = "M12 6v7.5M12 17.5v.01"
)

var (
	pageDone    = page{"done", markDone, "Login finished", "You can close this window and return to the program."}
	pageFailed  = page{"failed", markFailed, "Login failed", "You can close this window. The program shows the reason."}
	pageRefused = page{"failed", markFailed, "Request refused", "This address only accepts the response of a pending login."}
)

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>%[3]s</title>
<style>
:root { color-scheme: light dark; --ground: #f3f5f7; --card: #fff; --ink: #1c2329; --quiet: #56616b; --done: #1a7f4b; --failed: #a15c07 }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --card: #1f252b; --ink: #eef1f4; --quiet: #a7b1ba; --done: #4cc38a; --failed: #f0a94b } }
body { font: 1.05rem/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 100vh; margin: 0; background: var(--ground); color: var(--ink) }
main { box-sizing: border-box; width: min(28rem, 92vw); padding: 2.5rem 2rem; text-align: center; background: var(--card); border-radius: 1rem; box-shadow: 0 1px 2px #0002, 0 8px 24px #0001 }
svg { width: 3.5rem; height: 3.5rem; margin-bottom: 1rem; padding: .6rem; border: 2px solid; border-radius: 50%%; box-sizing: border-box; fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round }
.done { color: var(--done) }
.failed { color: var(--failed) }
h1 { font-size: 1.45rem; font-weight: 600; margin: 0 0 .5rem }
p { margin: 0; color: var(--quiet); text-wrap: balance }
</style></head>
<body><main><svg class="%[1]s" viewBox="0 0 24 24" aria-hidden="true"><path d="%[2]s"/></svg><h1>%[3]s</h1><p>%[4]s</p></main></body></html>
`

func writePage(w http.ResponseWriter, status int, p page) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, pageText, p.kind, p.mark, p.title, p.text)
}
