package sse

import (
	"bytes"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// plain reads a whole stream in the simplest way that follows the rules.
func plain(stream string) []Event {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var all []Event
	var e Event
	var said []string
	for _, line := range lines[:len(lines)-1] { // the last was not ended
		if line == "" {
			if said != nil {
				e.Data = []byte(strings.Join(said, "\n"))
			}
			if said != nil || e.HasID || e.HasRetry {
				all = append(all, e)
			}
			e, said = Event{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			said = append(said, value)
		case "event":
			e.Name = value
		case "id":
			if !strings.Contains(value, "\x00") {
				e.ID, e.HasID = value, true
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" {
				if n, err := strconv.ParseInt(value, 10, 64); err == nil && n < 1e12 {
					e.Retry = time.Duration(n) * time.Millisecond
				} else {
					e.Retry, _ = milliseconds([]byte(value))
				}
				e.HasRetry = true
			}
		}
	}
	return all
}

// chunks gives a stream in pieces of changing size.
type chunks struct {
	r    io.Reader
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	c.size = c.size*7%13 + 1
	return c.r.Read(p[:min(len(p), c.size)])
}

func FuzzReader(f *testing.F) {
	f.Add("data: a\n\nid: 1\r\nevent: e\rretry: 5\n: c\ndata\n\n")
	f.Add("\ufeffdata: a\r\n\r\n\r\rdata:\x00\n\n")
	f.Add("retry: 99999999999999999999\n\nid: \x00\n\nid\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		want := plain(stream)
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream)), &chunks{r: strings.NewReader(stream)}} {
			got, err := readAll(r, 0)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q:\n got %+v (%v)\nwant %+v", stream, got, err, want)
			}
		}
	})
}

// Whatever is written is one event, and comes back as it was but for bytes that
// cannot be said.
func FuzzAppend(f *testing.F) {
	f.Add("1", "message", []byte("a\r\nb"), int64(5))
	f.Add("\r\n\x00", "x\ndata: y", []byte{}, int64(-1))
	f.Fuzz(func(t *testing.T, id, name string, said []byte, retry int64) {
		if said == nil {
			said = []byte{}
		}
		e := Event{ID: id, HasID: true, Name: name, Data: said, Retry: time.Duration(retry) * time.Millisecond, HasRetry: true}
		stream := Append(AppendComment(nil, name), e)
		all, err := readAll(bytes.NewReader(stream), 0)
		if err != nil || len(all) != 1 {
			t.Fatalf("%q: %d events, %v", stream, len(all), err)
		}
		bare := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
		want := Event{
			ID: bare.Replace(id), HasID: true, Name: bare.Replace(name), HasRetry: true,
			Data:  []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(said))),
			Retry: max(0, e.Retry.Truncate(time.Millisecond)),
		}
		if !reflect.DeepEqual(all[0], want) {
			t.Fatalf("%q:\n got %+v\nwant %+v", stream, all[0], want)
		}
	})
}
