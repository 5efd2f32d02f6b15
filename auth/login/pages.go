package login

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	pageWindow  = 10 * time.Minute // pages older than this do not count
	maxPages    = 3                // per server within pageWindow
	maxPagesAll = 12               // per origin within pageWindow
	maxPageLog  = 1000             // entries of a PageLimit
)

// A PageLimit limits the login pages that a user sees: 3 within 10 minutes
// for one server, and 12 within 10 minutes for all servers of one origin,
// for any scopes and results. The zero value is ready to use. Transports may
// share one.
type PageLimit struct {
	mu    sync.Mutex
	shown []shownPage // oldest first
}

type shownPage struct {
	at             time.Time
	server, origin string
}

// A PageLimitError reports that a server requires a login page but the
// [PageLimit] allows no other one yet.
type PageLimitError struct {
	// Server is the URL of the server.
	Server string
	// Pages is the number of pages shown within the last 10 minutes.
	Pages int
	// Until is when the next page may be shown.
	Until time.Time
}

func (e *PageLimitError) Error() string {
	return fmt.Sprintf("opened %d login pages for %s within %d minutes; the next one is allowed at %s",
		e.Pages, e.Server, int(pageWindow/time.Minute), e.Until.Format(time.TimeOnly))
}

// check returns an error if no page may be shown now.
func (l *PageLimit) check(now time.Time, server, origin string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkLocked(now, server, origin)
}

// take counts a page that is about to be shown, or returns an error.
func (l *PageLimit) take(now time.Time, server, origin string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkLocked(now, server, origin); err != nil {
		return err
	}
	l.shown = append(l.shown, shownPage{now, server, origin})
	return nil
}

func (l *PageLimit) checkLocked(now time.Time, server, origin string) error {
	for len(l.shown) > 0 && now.Sub(l.shown[0].at) >= pageWindow {
		l.shown = l.shown[1:]
	}
	var same, all []time.Time
	for _, p := range l.shown {
		if p.origin == origin {
			all = append(all, p.at)
		}
		if p.server == server {
			same = append(same, p.at)
		}
	}
	switch {
	case len(same) >= maxPages:
		return &PageLimitError{Server: server, Pages: len(same), Until: same[len(same)-maxPages].Add(pageWindow)}
	case len(all) >= maxPagesAll:
		return &PageLimitError{Server: origin, Pages: len(all), Until: all[len(all)-maxPagesAll].Add(pageWindow)}
	case len(l.shown) >= maxPageLog:
		return &PageLimitError{Server: server, Pages: len(l.shown), Until: l.shown[0].at.Add(pageWindow)}
	}
	return nil
}

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
