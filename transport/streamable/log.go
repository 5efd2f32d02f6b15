package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// record makes a record of a request for the server's operator.
func (s *Handler) record(r *http.Request, level slog.Level, what string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
	s.opts.Logger.LogAttrs(r.Context(), level, what, attrs...)
}

// recordNoise returns a func that records panics and calls next, if there is one.
func (s *Handler) logInvalidFrame(next func(frame []byte, err error)) func(frame []byte, err error) {
	return func(frame []byte, err error) {
		s.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "handler failed", slog.Any("error", err))
		if next != nil {
			next(frame, err)
		}
	}
}

// recordDropped records that a client has taken nothing for too long. One that
// has closed its connection is not worth a record.
func (s *Handler) recordDropped(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.opts.Logger.LogAttrs(context.Background(), slog.LevelWarn, "stream dropped",
			slog.String("reason", "the client has taken nothing for "+s.opts.WriteIdle.String()))
	}
}

// recordUnsaved records that the store failed.
func (s *sessions) recordUnsaved(err error) {
	s.h.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "session not saved", slog.Any("error", err))
}

// recordInvalid records a message that could not be read.
func (s *Handler) recordInvalid(r *http.Request, bad *jsonrpc.DecodeError) {
	s.record(r, slog.LevelWarn, "invalid message", slog.String("reason", bad.Reason))
}
