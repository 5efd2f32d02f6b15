package sse

import (
	"bytes"
	"io"
	"testing"
)

func BenchmarkReadLarge(b *testing.B) {
	benchmarkRead(b, Append(nil, Event{Name: "message", Data: bytes.Repeat([]byte("x"), 1<<20)}), 1)
}

func BenchmarkReadLargeLines(b *testing.B) {
	benchmarkRead(b, Append(nil, Event{Data: bytes.Repeat([]byte("0123456\r"), 1<<17)}), 1)
}

func BenchmarkReadSmall(b *testing.B) {
	var stream []byte
	for range 1000 {
		stream = Append(stream, Event{Name: "message", Data: []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"hi"}]}}`)})
	}
	benchmarkRead(b, stream, 1000)
}

// Lines of one kind must not make the search for the other kind slow.
func BenchmarkReadManyCR(b *testing.B) {
	benchmarkRead(b, append(bytes.Repeat([]byte(":\r"), 1<<19), "data\n\n"...), 1)
}

func benchmarkRead(b *testing.B, stream []byte, events int) {
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		in := NewReader(bytes.NewReader(stream), 0)
		for n := 0; ; n++ {
			_, err := in.Next()
			if err == io.EOF && n == events {
				break
			}
			if err != nil {
				b.Fatal(n, err)
			}
		}
	}
}

func BenchmarkAppendLarge(b *testing.B) {
	e := Event{Name: "message", Data: bytes.Repeat([]byte("x"), 1<<20)}
	benchmarkAppend(b, e)
}

func BenchmarkAppendSmall(b *testing.B) {
	benchmarkAppend(b, Event{ID: "s-12", Name: "message", Data: []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"hi"}]}}`)})
}

func benchmarkAppend(b *testing.B, e Event) {
	dst := Append(nil, e)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = Append(dst[:0], e)
	}
}
