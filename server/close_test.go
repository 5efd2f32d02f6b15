package server_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/server"
)

func TestCloseRunsWhatWasRegistered(t *testing.T) {
	s, log := newServer(server.Options{})
	var order []string
	register := func(name string, err error) {
		s.OnClose(func() error { order = append(order, name); return err })
	}
	register("first", errors.New("first failed"))
	register("second", nil)
	register("third", errors.New("third failed"))

	err := s.Close()
	if want := []string{"third", "second", "first"}; !slices.Equal(order, want) {
		t.Errorf("ran %v, want %v", order, want)
	}
	if err == nil || !strings.Contains(err.Error(), "first failed") || !strings.Contains(err.Error(), "third failed") {
		t.Errorf("the error is %v, want both failures", err)
	}
	if again := s.Close(); again != err || len(order) != 3 {
		t.Errorf("closed twice: %v after %v, ran %v", again, err, order)
	}

	register("late", errors.New("late failed"))
	if order[len(order)-1] != "late" {
		t.Errorf("what was registered after the end did not run: %v", order)
	}
	if !strings.Contains(log.String(), "late failed") {
		t.Errorf("the operator was not told of a late failure: %s", log)
	}
}

func TestCloseOfAServerWithNothingToEnd(t *testing.T) {
	s, _ := newServer(server.Options{})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Everybody who closes waits until all has ended.
func TestCloseWaits(t *testing.T) {
	s, _ := newServer(server.Options{})
	begun, end := make(chan struct{}), make(chan struct{})
	ended := false
	s.OnClose(func() error { close(begun); <-end; ended = true; return nil })

	var all sync.WaitGroup
	all.Go(func() { s.Close() })
	<-begun
	for range 5 {
		all.Go(func() {
			s.Close()
			if !ended {
				t.Error("a second Close returned before the first was done")
			}
		})
	}
	close(end)
	all.Wait()
}
