package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
)

// patience bounds every wait.
const patience = 30 * time.Second

func until(what string, ok func() bool) error {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			return errors.New("not in time: " + what)
		}
	}
	return nil
}

// timeToPrompt takes turns: nine healthy servers, and the same with a tenth that
// hangs. The prompt is there when Open returns; the nine are there when all of
// them were met and their tools are listed.
func timeToPrompt(s *sheet, rounds int) error {
	var prompt, there [2][]time.Duration
	for range rounds {
		for i, hang := range []bool{false, true} {
			servers, healthy := entries(9, hang)
			began := time.Now()
			w, clean, err := open(servers, nil)
			if err != nil {
				return err
			}
			prompt[i] = append(prompt[i], time.Since(began))
			ctx, stop := context.WithTimeout(context.Background(), patience)
			err = w.Ready(ctx, healthy...)
			there[i] = append(there[i], time.Since(began))
			stop()
			clean()
			if err != nil {
				return err
			}
		}
	}
	show := func(what string, pair [2][]time.Duration) {
		nine, ten := median(pair[0]), median(pair[1])
		ratio := float64(ten) / float64(nine)
		s.put(what+", nine servers", ms(nine), "", true)
		s.put(what+", the nine and one that hangs", ms(ten), "", true)
		s.put(what+", ratio", fmt.Sprintf("%.2f", ratio), "at most 1.25", ratio <= 1.25)
	}
	show("time to prompt", prompt)
	show("time until the nine were met", there)
	return nil
}

// cancelLatency is from Stop until the turn is over, and until the server's
// handler has noticed.
func cancelLatency(s *sheet, rounds int) error {
	w, clean, err := open([]config.Server{entry("s0", "good")}, nil,
		`{"script":1,"repeat":true}`, `{"expect":{}}`, `{"call":{"name":"s0__hang","arguments":{}}}`)
	if err != nil {
		return err
	}
	defer clean()
	if err := w.Ready(context.Background(), "s0"); err != nil {
		return err
	}
	server := w.Fleet.Get("s0")
	var over, noticed []time.Duration
	for n := 1; n <= rounds*3; n++ {
		session := w.Host.NewSession()
		done := make(chan error, 1)
		go func() { done <- session.Send(context.Background(), "go") }()
		if err := until("the call runs", func() bool { return strings.Count(server.Stderr(), "begun") >= n }); err != nil {
			return err
		}
		began := time.Now()
		session.Stop()
		<-done
		over = append(over, time.Since(began))
		if err := until("the server notices", func() bool { return strings.Count(server.Stderr(), "stopped") >= n }); err != nil {
			return err
		}
		noticed = append(noticed, time.Since(began))
	}
	s.put("stop, until the turn is over", ms(median(over)), "under 50 ms", median(over) < 50*time.Millisecond)
	s.put("stop, until the server's handler has noticed", ms(median(noticed)), "under 50 ms", median(noticed) < 50*time.Millisecond)
	return nil
}

// reconnect is from the death of a server's process until it was met again. A
// wait of one second is part of it, as the specification of restarts wants.
func reconnect(s *sheet, rounds int) error {
	var all []time.Duration
	for range rounds {
		w, clean, err := open([]config.Server{entry("s0", "good")}, nil)
		if err != nil {
			return err
		}
		if err := w.Ready(context.Background(), "s0"); err != nil {
			return err
		}
		server := w.Fleet.Get("s0")
		began := time.Now()
		if p, err := os.FindProcess(server.State().Pid); err != nil || p.Kill() != nil {
			return errors.New("the server could not be killed")
		}
		err = until("it is back", func() bool { st := server.State(); return st.Phase == connect.Ready && st.Starts == 2 })
		all = append(all, time.Since(began))
		clean()
		if err != nil {
			return err
		}
	}
	m := median(all)
	s.put("a killed server is back (1 s of it is the wait before)", ms(m), "under 1500 ms", m < 1500*time.Millisecond)
	return nil
}
