package httpguard

import (
	"log/slog"
	"net/http"
	"time"
)

// A Refusal says why a request does not come in, and with which status.
type Refusal struct {
	Status int
	Reason string
}

func (f *Refusal) Error() string { return f.Reason }

// Refuse answers with f as plain text, before the body was read to its end. See
// [Guard.Abandon] for answers of another form.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, f *Refusal) {
	g.Log(r, f)
	g.Abandon(w, r)
	http.Error(w, f.Reason, f.Status)
}

// Log records that a request is refused, for the server's operator.
func (g *Guard) Log(r *http.Request, f *Refusal) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "request refused",
		slog.Int("status", f.Status), slog.String("reason", f.Reason),
		slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
}

// Abandon is to be called before a request is answered whose body was not read
// to its end. What is left of the body is not waited for long, and cannot be
// taken for another request.
func (g *Guard) Abandon(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody || r.ProtoMajor > 1 {
		return
	}
	w.Header().Set("Connection", "close")
	// net/http reads on when the handler is done. An error means that the
	// connection knows no deadlines: the server's own limits have to do.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(abandonAfter))
}

// abandonAfter is how long the rest of a refused body may take to come, so that
// a client that is still sending gets to read the answer.
const abandonAfter = 500 * time.Millisecond
