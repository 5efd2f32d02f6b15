package soak

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"syscall"
	"time"
)

// This file is compiled into the tenon program of the run too, as a file of its
// package main: every process writes once a second what only it knows of itself.
// On SIGUSR1 it writes a profile of its heap and its goroutines beside it.

// statsVar names the folder, and roleVar what the process is.
const (
	statsVar = "SOAK_STATS"
	roleVar  = "SOAK_ROLE"
)

func init() {
	dir := os.Getenv(statsVar)
	if dir == "" {
		return
	}
	profile := make(chan os.Signal, 1)
	signal.Notify(profile, syscall.SIGUSR1)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		name := filepath.Join(dir, fmt.Sprint(os.Getpid()))
		for {
			metrics.Read(live)
			text := fmt.Sprintln(os.Getenv(roleVar), runtime.NumGoroutine()-2, live[0].Value.Uint64())
			if os.WriteFile(name+".new", []byte(text), 0o600) == nil {
				os.Rename(name+".new", name)
			}
			select {
			case <-time.After(time.Second):
			case <-profile:
				for _, what := range []string{"heap", "goroutine"} {
					if f, err := os.Create(fmt.Sprint(name, ".", time.Now().Unix(), ".", what)); err == nil {
						pprof.Lookup(what).WriteTo(f, 0)
						f.Close()
					}
				}
			}
		}
	}()
}
