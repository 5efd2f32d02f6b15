package jsonrpc

import "bytes"

// A Direction is the direction of a frame, seen from this end.
type Direction int

// The directions.
const (
	In Direction = iota
	Out
)

// Tap returns a stream that passes every frame to see as well. Frames of one
// direction are seen in order, in the goroutine that reads or writes; see must
// not retain or modify them.
func Tap(s Stream, see func(d Direction, frame []byte)) Stream {
	return &tap{s, see}
}

type tap struct {
	Stream
	see func(Direction, []byte)
}

func (t *tap) Read() ([]byte, error) {
	frame, err := t.Stream.Read()
	if err == nil {
		t.see(In, frame)
	}
	return frame, err
}

func (t *tap) more() bool              { return hasMore(t.Stream) }
func (t *tap) room(frames []byte) bool { return hasRoom(t.Stream, frames) }

func (t *tap) Write(frames []byte) error {
	for line := range bytes.Lines(frames) {
		t.see(Out, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	return t.Stream.Write(frames)
}
