package httpguard

import (
	"log/slog"
	"net/http"
	"time"
)

// A Refusal is the reason and the status of a refused request.
type Refusal struct {
	Status int
	Reason string
}

func (f *Refusal) Error() string { return f.Reason }

// Refuse answers a request with f as plain text; the body need not have been
// read. For responses of another form, call [Guard.Abandon] first.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, f *Refusal) {
	g.Log(r, f)
	g.Abandon(w, r)
	http.Error(w, f.Reason, f.Status)
}

// Log logs a refused request for the server's operator.
func (g *Guard) Log(r *http.Request, f *Refusal) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "request refused",
		slog.Int("status", f.Status), slog.String("reason", f.Reason),
		slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
}

// Abandon must be called before answering a request whose body was not read to
// its end. It bounds the wait for the rest of the body, which cannot be mistaken
// for another request.
func (g *Guard) Abandon(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody || r.ProtoMajor > 1 {
		return
	}
	w.Header().Set("Connection", "close")
	// net/http reads on after the handler. Without deadlines, the server's own
	// limits apply.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(abandonAfter))
}

// abandonAfter is how long the rest of a refused body is read, so that a client
// that is still sending can read the response.
const abandonAfter = 500 * time.Millisecond
