package config

import (
	"strings"
	"testing"
	"time"
)

func TestConnectionOfAnEntry(t *testing.T) {
	for text, want := range map[string]Connection{
		`"shared"`: {Scope: ConnectionShared},
		`"user"`:   {Scope: ConnectionUser},
		`{"scope": "session", "max": 3, "idle": "5m"}`: {Scope: ConnectionSession, Max: 3, Idle: 5 * time.Minute},
	} {
		w := newWorld(t).user(`{"mcpServers":{"a":{"command":"x","connection":` + text + `}}}`)
		s := w.server("a")
		if s.Connection != want || s.Connection.PerCaller() != (want.Scope != ConnectionShared) {
			t.Errorf("%s: %+v", text, s.Connection)
		}
		again := newWorld(t)
		if err := Add(again.userFile(), "a", s.Entry()); err != nil {
			t.Fatal(err)
		}
		if got := again.server("a").Connection; got != want {
			t.Errorf("%s: written and read again it is %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		`"mine"`:                     `must be "shared", "user" or "session"`,
		`{"max":3}`:                  `must have a "scope"`,
		`{"scope":"user","max":0}`:   "at least 1",
		`{"scope":"user","idle":-1}`: "duration",
		`{"scope":"user","size":1}`:  "unknown member",
		`7`:                          "must be an object",
	} {
		_, err := newWorld(t).user(`{"mcpServers":{"a":{"command":"x","connection":` + text + `}}}`).load().Server("a")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
