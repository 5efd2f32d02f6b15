package httpguard

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// IsJSON checks that the body of a request is declared as uncompressed JSON; nil
// means that it is. A web page can make a browser send other types without a
// preflight request.
func (g *Guard) IsJSON(r *http.Request) *Refusal {
	types := r.Header["Content-Type"]
	if len(types) != 1 || !isJSON(types[0]) {
		return &Refusal{http.StatusUnsupportedMediaType, "the Content-Type must be application/json"}
	}
	for _, coding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(coding, "identity") {
			return &Refusal{http.StatusUnsupportedMediaType, "the body must not be compressed: leave out Content-Encoding"}
		}
	}
	return nil
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// firstRead is the initial size of the buffer for a body.
const firstRead = 16 << 10

// Body reads the body of a request; the caller owns it. It refuses a body that is
// too large, or whose sender pauses too long. Afterwards it clears the server's
// read deadline, so that the response may take long.
func (g *Guard) Body(w http.ResponseWriter, r *http.Request) ([]byte, *Refusal) {
	if r.ContentLength > int64(g.opts.MaxBody) {
		return nil, g.tooLarge()
	}
	if r.ContentLength == 0 {
		return []byte{}, nil
	}
	var timer bodyTimer // the zero timer does nothing
	if !hasArrived(r) {
		timer = newBodyTimer(w, r, g.opts.BodyIdle)
	}
	buf := make([]byte, 0, g.initialSize(r.ContentLength))
	for {
		timer.extend()
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > g.opts.MaxBody:
			return nil, g.tooLarge()
		case errors.Is(err, io.EOF):
			timer.stop()
			return buf, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &Refusal{http.StatusRequestTimeout, "the body did not arrive in time"}
		case err != nil:
			return nil, &Refusal{http.StatusBadRequest, "the body could not be read"}
		}
		if len(buf) == cap(buf) {
			bigger := make([]byte, len(buf), g.nextSize(len(buf), r.ContentLength))
			copy(bigger, buf)
			buf = bigger
		}
	}
}

// initialSize returns the size of the first buffer for a body with this
// Content-Length, -1 if unknown. The length is not trusted. One more byte lets
// the end be read without growing the buffer.
func (g *Guard) initialSize(length int64) int64 {
	if length < 0 {
		length = 4 << 10
	}
	return min(length, firstRead, int64(g.opts.MaxBody)) + 1
}

// nextSize returns the size of the next buffer after come bytes: twice as much
// or, up to eight times, the Content-Length.
func (g *Guard) nextSize(come int, length int64) int {
	room := 2 * int64(come)
	if length >= int64(come) {
		room = min(length+1, 8*int64(come))
	}
	return int(min(room, int64(g.opts.MaxBody)+1))
}

func (g *Guard) tooLarge() *Refusal {
	return &Refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large: the limit is %d bytes", g.opts.MaxBody)}
}

// A bodyTimer ends reads that take too long, and never later than the server's
// ReadTimeout. It does nothing on a connection without deadlines.
type bodyTimer struct {
	c    deadlineSetter
	idle time.Duration
	last time.Time // the end of ReadTimeout; zero means none
}

type deadlineSetter interface{ SetReadDeadline(time.Time) error }

func newBodyTimer(w http.ResponseWriter, r *http.Request, idle time.Duration) bodyTimer {
	c := bodyTimer{idle: idle}
	var ok bool
	if c.c, ok = w.(deadlineSetter); !ok { // wrapped
		c.c = http.NewResponseController(w)
	}
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ReadTimeout > 0 {
		c.last = time.Now().Add(s.ReadTimeout)
	}
	return c
}

func (c *bodyTimer) extend() {
	if c.c == nil {
		return
	}
	at := time.Now().Add(c.idle)
	if !c.last.IsZero() && c.last.Before(at) {
		at = c.last
	}
	_ = c.c.SetReadDeadline(at) // if unsupported, the server's own limits apply
}

func (c *bodyTimer) stop() {
	if c.c != nil {
		_ = c.c.SetReadDeadline(time.Time{})
	}
}
