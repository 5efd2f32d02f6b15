package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
)

// logRequest logs an event of a request for the server's operator.
func (s *Handler) logRequest(r *http.Request, level slog.Level, what string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
	s.opts.Logger.LogAttrs(r.Context(), level, what, attrs...)
}

// logInvalidFrame returns a function that logs panics and calls next, if not nil.
func (s *Handler) logInvalidFrame(next func(frame []byte, err error)) func(frame []byte, err error) {
	return func(frame []byte, err error) {
		s.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "handler failed", slog.Any("error", err))
		if next != nil {
			next(frame, err)
		}
	}
}

// logDropped logs a client that has read nothing for too long. A closed
// connection is not logged.
func (s *Handler) logDropped(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.opts.Logger.LogAttrs(context.Background(), slog.LevelWarn, "stream dropped",
			slog.String("reason", "the client has read nothing for "+s.opts.WriteIdle.String()))
	}
}
