package httpsse

import (
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"
)

// What a client sends faster than it is read is refused, by number and by size.
func TestQueueIsBounded(t *testing.T) {
	fresh := func() *stream {
		s := newStream(httptest.NewRecorder(), &Options{KeepAlive: time.Hour, WriteIdle: time.Hour})
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := fresh()
	for i := range queueFrames {
		if err := s.enqueue([]byte("{}")); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := s.enqueue([]byte("{}")); !errors.Is(err, errFull) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := s.Read(); err != nil {
		t.Fatal(err)
	}
	if err := s.enqueue([]byte("{}")); err != nil {
		t.Errorf("after one was read: %v", err)
	}

	s = fresh()
	if err := s.enqueue(make([]byte, queueBytes+1)); err != nil {
		t.Errorf("one is always taken: %v", err)
	}
	if err := s.enqueue([]byte("{}")); !errors.Is(err, errFull) {
		t.Errorf("beside a large one: %v", err)
	}
	if _, err := s.Read(); err != nil {
		t.Fatal(err)
	}
	if err := s.enqueue([]byte("{}")); err != nil {
		t.Errorf("after it was read: %v", err)
	}

	_ = s.Close()
	if err := s.enqueue([]byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %v", err)
	}
	if err := s.Write([]byte("{}\n")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("written after the end: %v", err)
	}
}
