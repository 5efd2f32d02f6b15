package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// logged returns the lines that f writes for a caller who wants them from a
// level on.
func logged(level mcp.LogLevel, f func(*slog.Logger)) string {
	var box mailbox
	c := &mcp.Call{OnNotification: box.put}
	c.Caller.LogLevel = level
	f(server.Logger(c, "l"))
	return strings.ReplaceAll(box.take(), "message ", "")
}

func TestLogLevels(t *testing.T) {
	all := func(l *slog.Logger) {
		for _, level := range []slog.Level{-8, slog.LevelDebug, slog.LevelInfo, slog.LevelInfo + 2, slog.LevelWarn, slog.LevelError, 12, 16, 20, 99} {
			l.Log(context.Background(), level, "x")
		}
	}
	rows := []struct {
		asked mcp.LogLevel
		want  string
	}{
		{"", ""}, // M10: who does not ask hears nothing
		{"loud", ""},
		{mcp.LogDebug, "debug debug info notice warning error critical alert emergency emergency"},
		{mcp.LogInfo, "info notice warning error critical alert emergency emergency"},
		{mcp.LogWarning, "warning error critical alert emergency emergency"},
		{mcp.LogEmergency, "emergency emergency"},
	}
	for _, row := range rows {
		var got []string
		for line := range strings.Lines(logged(row.asked, all)) {
			var m mcp.LogMessage
			if err := mcp.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.Level))
		}
		expect(t, "from "+string(row.asked), strings.Join(got, " "), row.want)
	}
	c := &mcp.Call{}
	c.Caller.LogLevel = mcp.LogDebug
	server.Logger(c, "").Error("nobody listens") // and nothing breaks
}

type secret string

func (secret) LogValue() slog.Value { return slog.StringValue("hidden") }

func TestLogData(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	rows := []struct {
		name string
		log  func(*slog.Logger)
		want string
	}{
		{"only a message", func(l *slog.Logger) { l.Info("x") }, `"x"`},
		{"attributes", func(l *slog.Logger) { l.Info("x", "n", 1, "ok", true, "f", 1.5, "u", uint64(7)) }, `{"f":1.5,"message":"x","n":1,"ok":true,"u":7}`},
		{"error", func(l *slog.Logger) { l.Info("x", "e", errors.New("no")) }, `{"e":"no","message":"x"}`},
		{"times", func(l *slog.Logger) { l.Info("x", "d", 1500*time.Millisecond, "t", at) }, `{"d":"1.5s","message":"x","t":"2026-01-02T03:04:05.000006Z"}`},
		{"values", func(l *slog.Logger) { l.Info("x", "s", sum{1}, "m", map[string]int{"a": 1}) }, `{"m":{"a":1},"message":"x","s":{"sum":1}}`},
		{"no JSON form", func(l *slog.Logger) { l.Info("x", "n", math.NaN(), "i", math.Inf(-1), "l", []float64{math.NaN()}) }, `{"i":"-Inf","l":"[NaN]","message":"x","n":"NaN"}`},
		{"not UTF-8", func(l *slog.Logger) { l.Info("x\xff", "s", "\xff", "e", errors.New("\xff"), "l", []string{"\xff"}) }, `{"e":"�","l":"[�]","message":"x�","s":"�"}`},
		{"valuer", func(l *slog.Logger) { l.Info("x", "p", secret("1234")) }, `{"message":"x","p":"hidden"}`},
		{"group", func(l *slog.Logger) { l.Info("x", slog.Group("g", "a", 1), slog.Group("", "b", 2), slog.Group("e")) }, `{"b":2,"g":{"a":1},"message":"x"}`},
		{"with", func(l *slog.Logger) { l.With("a", 1).With("b", 2).Info("x", "c", 3) }, `{"a":1,"b":2,"c":3,"message":"x"}`},
		{"with group", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).With("c", 3).WithGroup("h").Info("x", "d", 4)
		}, `{"a":1,"g":{"b":2,"c":3,"h":{"d":4}},"message":"x"}`},
		{"empty group", func(l *slog.Logger) { l.WithGroup("g").Info("x") }, `"x"`},
		{"last", func(l *slog.Logger) { l.With("a", 1).Info("x", "a", 2) }, `{"a":2,"message":"x"}`},
	}
	for _, row := range rows {
		expect(t, row.name, logged(mcp.LogDebug, row.log), `{"level":"info","logger":"l","data":`+row.want+`}`)
	}
}

// Loggers that share a beginning do not write into each other.
func TestLogWithIsACopy(t *testing.T) {
	got := logged(mcp.LogDebug, func(l *slog.Logger) {
		base := l.With("a", 1).WithGroup("g").With("b", 2)
		one, two := base.With("x", 1), base.With("y", 2)
		one.WithGroup("o").Info("one", "z", 1)
		two.WithGroup("t").Info("two", "z", 2)
	})
	want := `{"level":"info","logger":"l","data":{"a":1,"g":{"b":2,"o":{"z":1},"x":1},"message":"one"}}
{"level":"info","logger":"l","data":{"a":1,"g":{"b":2,"t":{"z":2},"y":2},"message":"two"}}`
	expect(t, "lines", got, want)
}

// The handler keeps the rules of package slog. The time is not sent: a client
// knows when a line arrives.
func TestSlogRules(t *testing.T) {
	var box mailbox
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		box.take()
		c := &mcp.Call{OnNotification: box.put}
		c.Caller.LogLevel = mcp.LogDebug
		return server.Logger(c, "").Handler()
	}, func(t *testing.T) map[string]any {
		var line struct {
			Level string
			Data  any
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(box.take(), "message ")), &line); err != nil {
			t.Fatal(err)
		}
		data, ok := line.Data.(map[string]any)
		if !ok {
			data = map[string]any{"message": line.Data}
		}
		data[slog.MessageKey], data[slog.LevelKey] = data["message"], line.Level
		delete(data, "message")
		if !strings.HasSuffix(t.Name(), "zero-time") {
			data[slog.TimeKey] = time.Now()
		}
		return data
	})
}
