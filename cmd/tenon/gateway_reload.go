package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// reloadCheck is the interval at which the files of the configuration are
// checked. A change is applied when the files were the same in two checks, so
// that a file that is being written is not read.
const reloadCheck = time.Second

// follow applies the configuration again when its files change and on SIGHUP,
// until the function that it returns is called.
func (g *gatewayRun) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hup, ignored := make(chan struct{}, 1), false
	if !isTerminal(g.p.in) { // a terminal that is closed sends SIGHUP, too
		onSignal := func() {
			select {
			case hup <- struct{}{}:
			default:
			}
		}
		g.p.reload.Store(&onSignal)
		ignored = signal.Ignored(syscall.SIGHUP) // as under nohup, which is about terminals
		if g.p.signals != nil {
			signal.Notify(g.p.signals, syscall.SIGHUP)
		}
	}
	g.p.unattended.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.watch(ctx, hup)
	}()
	return func() {
		if ignored {
			signal.Ignore(syscall.SIGHUP)
		}
		g.p.reload.Store(nil)
		cancel()
		<-done
	}
}

// watch reloads until ctx ends.
func (g *gatewayRun) watch(ctx context.Context, hup <-chan struct{}) {
	tick := time.NewTicker(reloadCheck)
	defer tick.Stop()
	last := g.fileStates()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			g.log.Info("reading the configuration again", "because", "SIGHUP")
		case <-tick.C:
			if f, ok := g.keys.(*protect.KeyFile); ok {
				_ = f.Check() // it logs what is wrong
			}
			now := g.fileStates()
			settled := slices.Equal(now, last)
			last = now
			if !settled || slices.Equal(now, g.appliedStates()) {
				continue
			}
			g.log.Info("reading the configuration again", "because", "a file has changed")
		}
		g.reload(ctx)
		last = g.fileStates()
	}
}

// setFiles records which files configure the gateway, and how they are now if
// there are others than before.
func (g *gatewayRun) setFiles(files []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(files, g.files) {
		g.files, g.applied = files, statesOf(files)
		g.used = g.applied
	}
}

// appliedStates returns the states of the files when they were last read.
func (g *gatewayRun) appliedStates() []fileState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.applied
}

// fileStates returns the states of the files of the configuration.
func (g *gatewayRun) fileStates() []fileState {
	g.mu.Lock()
	files := slices.Clone(g.files)
	g.mu.Unlock()
	return statesOf(files)
}

func statesOf(files []string) []fileState {
	states := make([]fileState, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil {
			states[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return states
}

// reload applies the configuration. An invalid one changes nothing.
func (g *gatewayRun) reload(ctx context.Context) {
	now := g.fileStates()
	g.mu.Lock()
	err := settingsGone(g.files, g.used, now)
	g.applied = now
	g.mu.Unlock()
	if err == nil {
		err = g.apply(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			g.refused.Add(1)
			g.log.Error("the new configuration is not used; the old one stays in use", "error", err)
		}
		return
	}
	g.mu.Lock()
	g.used = now
	g.mu.Unlock()
	g.reloads.Add(1)
	g.log.Info("the configuration is in use")
}

// settingsGone returns an error if the file with the rules is gone: the gateway was
// started with it, and without rules everything would be allowed.
func settingsGone(files []string, before, now []fileState) error {
	for i, name := range files {
		if filepath.Base(name) == "tenon.json" && i < len(before) && i < len(now) && before[i] != (fileState{}) && now[i] == (fileState{}) {
			return fmt.Errorf("%s is gone; write an empty object to it if you want no settings", name)
		}
	}
	return nil
}

// gatewayLog returns the log of a gateway: one line for each event, without
// secrets.
func (p *program) gatewayLog(format, level string) (*slog.Logger, error) {
	var least slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) || least.UnmarshalText([]byte(level)) != nil {
		return nil, usagef("--log-level must be debug, info, warn or error, not %q", level)
	}
	o := &slog.HandlerOptions{Level: least, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(p.cleanLine(v))
		case error:
			a.Value = slog.StringValue(p.cleanLine(v.Error()))
		}
		return a
	}}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(p.err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(p.err, o)), nil
	}
	return nil, usagef("--log-format must be text or json, not %q", format)
}

// cleanLine returns a text for the log, in one line and without secrets.
func (p *program) cleanLine(text string) string {
	return visible.Line(strings.ReplaceAll(p.secrets.Text(text), "\n", " "))
}
