package jsonrpc

import "bytes"

// A Direction says which way a frame went, seen from this end.
type Direction int

// The two directions.
const (
	In Direction = iota
	Out
)

// Tap returns a stream that shows every frame to see, as it passes. Frames of
// one direction are shown in their order, from the goroutine that carries them;
// see must not keep or change them.
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
