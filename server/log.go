package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds logging to the client, which the 2026 revision deprecates.

// Logger returns a logger that sends messages to the client of the call, if the
// client asked for messages of that level, and otherwise discards them. The
// message and the attributes become the data of a [mcp.LogMessage]; name
// becomes its logger.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use stderr or OpenTelemetry instead.
func Logger(c *mcp.Call, name string) *slog.Logger {
	return slog.New(&logHandler{call: c, name: name})
}

type logHandler struct {
	call   *mcp.Call
	name   string
	attrs  []slog.Attr // nested in their groups already
	groups []string
}

// levelOf converts a level of slog to one of the protocol.
func levelOf(l slog.Level) mcp.LogLevel {
	switch {
	case l < slog.LevelInfo:
		return mcp.LogDebug
	case l < slog.LevelInfo+2:
		return mcp.LogInfo
	case l < slog.LevelWarn:
		return mcp.LogNotice
	case l < slog.LevelError:
		return mcp.LogWarning
	case l < slog.LevelError+4:
		return mcp.LogError
	case l < slog.LevelError+8:
		return mcp.LogCritical
	case l < slog.LevelError+12:
		return mcp.LogAlert
	}
	return mcp.LogEmergency
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.call.OnNotification != nil && levelOf(l).AtLeast(h.call.Caller.LogLevel)
}

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	data := map[string]any{}
	for _, a := range h.attrs {
		put(data, a)
	}
	own := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool { own = append(own, a); return true })
	for _, a := range h.nest(own) {
		put(data, a)
	}
	if len(data) == 0 {
		return h.send(r.Level, text(r.Message))
	}
	data["message"] = text(r.Message)
	return h.send(r.Level, data)
}

func (h *logHandler) send(l slog.Level, data any) error {
	raw, err := mcp.Marshal(data)
	if err != nil {
		return err
	}
	params, err := mcp.Marshal(mcp.LogMessage{Level: levelOf(l), Logger: h.name, Data: raw})
	if err != nil {
		return err
	}
	h.call.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: params})
	return nil
}

// nest puts attributes into the open groups.
func (h *logHandler) nest(attrs []slog.Attr) []slog.Attr {
	for _, g := range slices.Backward(h.groups) {
		attrs = []slog.Attr{{Key: g, Value: slog.GroupValue(attrs...)}}
	}
	return attrs
}

// put adds an attribute to an object. As package slog requires, it omits empty
// attributes and empty groups.
func put(into map[string]any, a slog.Attr) {
	v := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
	case v.Kind() != slog.KindGroup:
		into[a.Key] = plain(v)
	case a.Key == "":
		for _, inner := range v.Group() {
			put(into, inner)
		}
	default:
		nested, ok := into[a.Key].(map[string]any)
		if !ok {
			nested = map[string]any{}
		}
		for _, inner := range v.Group() {
			put(nested, inner)
		}
		if len(nested) > 0 {
			into[a.Key] = nested
		}
	}
}

// plain converts a value to one that has a JSON form.
func plain(v slog.Value) any {
	switch v.Kind() {
	case slog.KindString, slog.KindDuration:
		return text(v.String())
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return text(err.Error())
		}
	}
	if _, err := mcp.Marshal(v.Any()); err != nil {
		return text(v.String())
	}
	return v.Any()
}

// text replaces invalid UTF-8, so that the message is not lost.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	c := *h
	c.attrs = slices.Concat(h.attrs, h.nest(attrs))
	return &c
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.groups = append(slices.Clip(h.groups), name)
	return &c
}
