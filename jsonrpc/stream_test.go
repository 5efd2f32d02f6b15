package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// framesOf reads a stream to its end; a frame that was passed over is "-".
func framesOf(t testing.TB, r io.Reader, limit int) []string {
	s := Lines(r, io.Discard, nopCloser{}, limit)
	var got []string
	for {
		f, err := s.Read()
		if bad, ok := errors.AsType[*FrameError](err); ok {
			if bad.Limit != limit {
				t.Errorf("the error names the limit %d", bad.Limit)
			}
			got = append(got, "-")
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("the stream ended with %v", err)
			}
			if _, again := s.Read(); again != err {
				t.Errorf("after its end the stream gave %v", again)
			}
			return got
		}
		got = append(got, string(f))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 70_000) // more than the buffer holds
	for _, c := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"one", "a\n", 10, []string{"a"}},
		{"nothing", "", 10, nil},
		{"CRLF", "a\r\nb\r\n", 10, []string{"a", "b"}},
		{"empty lines", "\n\r\n \t\na\n\n\nb\n", 10, []string{"a", "b"}},
		{"last line without an end", "a\nb", 10, []string{"a", "b"}},
		{"last line without an end, CR", "a\nb\r", 10, []string{"a", "b"}},
		{"at the limit", "0123456789\na\n", 10, []string{"0123456789", "a"}},
		{"beyond the limit", "0123456789x\na\n", 10, []string{"-", "a"}},
		{"far beyond the limit", long + "\na\n", 10, []string{"-", "a"}},
		{"last line beyond the limit", "a\n" + long, 10, []string{"a", "-"}},
		{"last line at the limit", "a\n0123456789", 10, []string{"a", "0123456789"}},
		{"long", long + "\n" + long + "y\nz", 70_001, []string{long, long + "y", "z"}},
		{"long at the limit", long + "\na\n", 70_000, []string{long, "a"}},
		{"long beyond the limit", long + "x\na\n", 70_000, []string{"-", "a"}},
		{"spaces that are none in JSON", "\u00a0a\n\v\nb\f\n", 10, []string{"\u00a0a", "\v", "b\f"}},
	} {
		readers := map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			"halves": iotest.HalfReader, "data with the error": iotest.DataErrReader,
		}
		for name, reader := range readers {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				if got := framesOf(t, reader(strings.NewReader(c.in)), c.limit); !slices.Equal(got, c.want) {
					t.Errorf("got %.200q, want %.200q", got, c.want)
				}
			})
		}
	}
}

func TestLinesKeepNothing(t *testing.T) {
	s := Lines(strings.NewReader("first\nsecond\n"), io.Discard, nopCloser{}, 0)
	first, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); err != nil || string(first) != "first" {
		t.Errorf("the first frame became %q (%v)", first, err)
	}
}

func TestLinesErrors(t *testing.T) {
	broken := errors.New("broken")
	s := Lines(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), iotestWriter{broken}, nopCloser{}, 0)
	if f, err := s.Read(); string(f) != "a" || err != nil {
		t.Errorf("%q, %v", f, err)
	}
	if _, err := s.Read(); !errors.Is(err, broken) {
		t.Errorf("Read: %v", err)
	}
	if err := s.Write([]byte("a\n")); !errors.Is(err, broken) {
		t.Errorf("Write: %v", err)
	}
}

type iotestWriter struct{ err error }

func (w iotestWriter) Write([]byte) (int, error) { return 0, w.err }

func TestPipe(t *testing.T) {
	a, b := Pipe()
	frame := []byte("one\n\ntwo\nthree")
	if err := a.Write(frame); err != nil {
		t.Fatal(err)
	}
	clear(frame) // a Write keeps nothing
	if f, err := b.Read(); string(f) != "one" || err != nil {
		t.Errorf("%q, %v", f, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Write([]byte("late\n")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after the far end was closed: %v", err)
	}
	if err := b.Write([]byte("late\n")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after Close: %v", err)
	}
	for _, want := range []string{"two", "three"} {
		if f, err := b.Read(); string(f) != want || err != nil {
			t.Errorf("%q, %v; want %s, which was written before", f, err, want)
		}
	}
	for _, end := range []Stream{a, b} {
		if _, err := end.Read(); err != io.EOF {
			t.Errorf("Read at the end: %v", err)
		}
		if err := end.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
	}
}

func TestPipeCloseFreesWhoWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, closeNear := range []bool{true, false} {
			a, b := Pipe()
			got := make(chan error, 2)
			go func() { _, err := a.Read(); got <- err }()
			go func() { got <- a.Write(bytes.Repeat([]byte("x\n"), 1000)) }()
			synctest.Wait()
			if len(got) != 0 {
				t.Fatal("nobody waits")
			}
			if closeNear {
				a.Close()
			} else {
				b.Close()
			}
			for range 2 {
				if err := <-got; err != io.EOF && err != io.ErrClosedPipe {
					t.Errorf("got %v", err)
				}
			}
		}
	})
}

func TestPipeHoldsUpItsWriters(t *testing.T) {
	a, b := Pipe()
	const writers, each = 4, 500
	done := make(chan struct{})
	for w := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range each {
				if err := a.Write(fmt.Appendf(nil, "%d %d\n", w, i)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	next := make([]int, writers)
	for range writers * each {
		f, err := b.Read()
		if err != nil {
			t.Fatal(err)
		}
		var w, i int
		fmt.Sscan(string(f), &w, &i)
		if next[w] != i {
			t.Errorf("writer %d: frame %d came when %d was due", w, i, next[w])
		}
		next[w]++
	}
	for range writers {
		<-done
	}
}

func TestTap(t *testing.T) {
	a, b := Pipe()
	var seen []string
	tapped := Tap(a, func(d Direction, frame []byte) { seen = append(seen, fmt.Sprintf("%d %s", d, frame)) })
	if err := tapped.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if err := b.Write([]byte("three\n")); err != nil {
		t.Fatal(err)
	}
	if f, err := tapped.Read(); string(f) != "three" || err != nil {
		t.Errorf("%q, %v", f, err)
	}
	tapped.Close()
	if _, err := tapped.Read(); err != io.EOF {
		t.Errorf("Read after Close: %v", err)
	}
	if want := []string{"1 one", "1 two", "0 three"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}
