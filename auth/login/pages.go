package login

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/loginpage"
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

// The final pages in the browser. They contain nothing of the request.
var (
	pageDone    = loginpage.Page{Kind: loginpage.Done, Title: "Login finished", Text: "You can close this window and return to the program."}
	pageFailed  = loginpage.Page{Kind: loginpage.Failed, Title: "Login failed", Text: "You can close this window. The program shows the reason."}
	pageRefused = loginpage.Page{Kind: loginpage.Failed, Title: "Request refused", Text: "This address only accepts the response of a pending login."}
)

// writePage writes a final page. The browser need not keep the connection.
func writePage(w http.ResponseWriter, status int, p loginpage.Page) {
	w.Header().Set("Connection", "close")
	p.Write(w, status)
}
