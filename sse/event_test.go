package sse

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestAppend(t *testing.T) {
	for _, test := range []struct {
		name string
		e    Event
		want string
	}{
		{"message", Event{Data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{"named", Event{Name: "endpoint", Data: []byte("/x?y=z")}, "event: endpoint\ndata: /x?y=z\n\n"},
		{"all", Event{ID: "7", Name: "n", Retry: 1500 * time.Millisecond, Data: []byte("d")}, "id: 7\nevent: n\nretry: 1500\ndata: d\n\n"},
		{"priming", Event{ID: "7", HasID: true, Data: []byte{}}, "id: 7\ndata: \n\n"},
		{"id only", Event{HasID: true}, "id: \n\n"},
		{"retry at once", Event{HasRetry: true}, "retry: 0\n\n"},
		{"retry in the past", Event{HasRetry: true, Retry: -time.Second}, "retry: 0\n\n"},
		{"lines", Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"line ends only", Event{Data: []byte("\r\r\n\n")}, "data: \ndata: \ndata: \ndata: \n\n"},
		{"space first", Event{Data: []byte(" a")}, "data:  a\n\n"},
		{"forged id", Event{ID: "1\ndata: evil\r\n\r\n\x002"}, "id: 1data: evil2\n\n"},
		{"forged name", Event{Name: "a\rid: 9\n", Data: []byte("x")}, "event: aid: 9\ndata: x\n\n"},
		{"forged by data", Event{Data: []byte("a\n\nid: 9\n")}, "data: a\ndata: \ndata: id: 9\ndata: \n\n"},
	} {
		if got := string(Append([]byte("> "), test.e)); got != "> "+test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := string(AppendComment(nil, "still\ndata: here\r")); got != ": stilldata: here\n\n" {
		t.Errorf("comment: %q", got)
	}
}

// readAll reads a stream to its end.
func readAll(r io.Reader, limit int) ([]Event, error) {
	var all []Event
	for in := NewReader(r, limit); ; {
		e, err := in.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			if _, again := in.Next(); !errors.Is(again, err) {
				return all, errors.New("an error is forgotten")
			}
			return all, err
		}
		all = append(all, e)
	}
}

func data(s string) Event { return Event{Data: []byte(s)} }

// Every rule, with the bytes in one piece, one by one, and with an error that
// comes with the last of them.
func TestReader(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		want         []Event
	}{
		{"LF", "data: a\n\ndata: b\n\n", []Event{data("a"), data("b")}},
		{"CR", "data: a\r\rdata: b\r\r", []Event{data("a"), data("b")}},
		{"CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", []Event{data("a"), data("b")}},
		{"all kinds", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\n\n", []Event{data("a\nb\nc"), data("d")}},
		{"LF CR is two", "data: a\n\rdata: b\n\r", []Event{data("a"), data("b")}},
		{"CR LF LF", "data: a\r\n\ndata: b\n\n", []Event{data("a"), data("b")}},
		{"CR CR LF", "data: a\r\r\ndata: b\n\n", []Event{data("a"), data("b")}},
		{"BOM", "\ufeffdata: a\n\n", []Event{data("a")}},
		{"BOM later", "data: a\n\n\ufeffdata: b\n\n", []Event{data("a")}},
		{"two BOMs", "\ufeff\ufeffdata: a\n\n", nil},
		{"BOM alone", "\ufeff\n\ndata: a\n\n", []Event{data("a")}},
		{"half a BOM", "\xef\xbbdata: a\n\ndata: b\n\n", []Event{data("b")}},
		{"comments", ": hello\ndata: a\n:\n:data: b\n\n: bye\n\n", []Event{data("a")}},
		{"no colon", "data\n\n", []Event{data("")}},
		{"no colon, twice", "data\ndata\n\n", []Event{data("\n")}},
		{"no space", "data:a\n\n", []Event{data("a")}},
		{"two spaces", "data:  a\n\n", []Event{data(" a")}},
		{"tab stays", "data:\ta\n\n", []Event{data("\ta")}},
		{"space before the colon", "data : a\n\n", nil},
		{"colons in the value", "data: a: b:\n\n", []Event{data("a: b:")}},
		{"names are exact", "Data: a\n\nDATA: b\n\ndat: c\n\n", nil},
		{"unknown field", "foo: bar\ndata: a\n\n", []Event{data("a")}},
		{"lines joined", "data: a\ndata:\ndata: b\n\n", []Event{data("a\n\nb")}},
		{"empty data", "data:\n\n", []Event{data("")}},
		{"the standard's example", "data\n\ndata\ndata\n\ndata:", []Event{data(""), data("\n")}},
		{"named", "event: e\ndata: a\n\ndata: b\n\n", []Event{{Name: "e", Data: []byte("a")}, data("b")}},
		{"last name counts", "event: e\nevent: f\ndata: a\n\n", []Event{{Name: "f", Data: []byte("a")}}},
		{"emptied name", "event: e\nevent\ndata: a\n\n", []Event{data("a")}},
		{"name alone", "event: e\n\ndata: a\n\n", []Event{data("a")}},
		{"priming", "id: 1\ndata:\n\n", []Event{{ID: "1", HasID: true, Data: []byte{}}}},
		{"id alone", "id: 1\n\ndata: a\n\n", []Event{{ID: "1", HasID: true}, data("a")}},
		{"id emptied", "id\n\n", []Event{{HasID: true}}},
		{"id with NUL", "id: a\x00b\n\nid: c\nid: a\x00\ndata: x\n\n", []Event{{ID: "c", HasID: true, Data: []byte("x")}}},
		{"data with NUL", "data: a\x00b\n\n", []Event{data("a\x00b")}},
		{"retry", "retry: 1500\n\n", []Event{{Retry: 1500 * time.Millisecond, HasRetry: true}}},
		{"retry at once", "retry:0\n\n", []Event{{HasRetry: true}}},
		{"retry that is none", "retry: 1s\n\nretry: -1\n\nretry:\n\nretry: +1\n\nretry:  1\n\nretry: 1.5\n\n", nil},
		{"retry without end", "retry: " + strings.Repeat("9", 40) + "\n\n", []Event{{Retry: math.MaxInt64 / time.Millisecond * time.Millisecond, HasRetry: true}}},
		{"not complete", "data: a\n\ndata: b\n", []Event{data("a")}},
		{"line not complete", "data: a\n\ndata: b", []Event{data("a")}},
		{"id not complete", "id: 1\n", nil},
		{"blank lines", "\n\n\r\n\r\r\n\ndata: a\n\n\n\n", []Event{data("a")}},
		{"not UTF-8", "data: \xff\xfe\n\n", []Event{data("\xff\xfe")}},
		{"nothing", "", nil},
	} {
		for how, r := range map[string]io.Reader{
			"whole":     strings.NewReader(test.stream),
			"one byte":  iotest.OneByteReader(strings.NewReader(test.stream)),
			"EOF early": iotest.DataErrReader(strings.NewReader(test.stream)),
		} {
			got, err := readAll(r, 1<<10)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s, %s: got %+v (%v), want %+v", test.name, how, got, err, test.want)
			}
		}
	}
}

// An event is delivered when it is complete, not when the next byte comes.
func TestReaderDoesNotWait(t *testing.T) {
	for _, stream := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r\n", "data: a\r\n\r"} {
		r, w := io.Pipe()
		in := NewReader(r, 0)
		go func() { _, _ = io.WriteString(w, stream) }()
		if e, err := in.Next(); err != nil || string(e.Data) != "a" {
			t.Errorf("%q: %+v, %v", stream, e, err)
		}
		r.Close()
	}
}

func TestReaderLimit(t *testing.T) {
	x := strings.Repeat("x", 100)
	for _, test := range []struct {
		name, stream string
		events       int
		tooLarge     bool
	}{
		{"data at the limit", "data: " + x + "\n\ndata: " + x + "\n\n", 2, false},
		{"data above", "data: a\n\ndata: " + x + "x\n\n", 1, true},
		{"a line without end", "data: a\n\ndata: " + x + x, 1, true},
		{"a comment without end", ": " + x + x, 0, true},
		{"many lines", "data: a\n\n" + strings.Repeat("data: 123456789\n", 11) + "\n", 1, true},
		{"id and data", "id: " + x[:60] + "\ndata: " + x[:60] + "\n\n", 0, true},
		{"comments do not add up", strings.Repeat(": sign of life\n", 100) + "data: a\n\n", 1, false},
		{"events do not add up", strings.Repeat("data: 123456789\n\n", 100), 100, false},
	} {
		for how, r := range map[string]io.Reader{"whole": strings.NewReader(test.stream), "one byte": iotest.OneByteReader(strings.NewReader(test.stream))} {
			got, err := readAll(r, 100)
			var limit *LimitError
			if len(got) != test.events || errors.As(err, &limit) != test.tooLarge || err != nil && limit == nil {
				t.Errorf("%s, %s: %d events, %v", test.name, how, len(got), err)
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := readAll(idle{}, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// Data belongs to the caller: what is read later must not change it.
func TestDataIsOwned(t *testing.T) {
	var stream []byte
	for i := range 2000 {
		stream = Append(stream, Event{Data: bytes.Repeat([]byte{byte('a' + i%26)}, i)})
	}
	all, err := readAll(bytes.NewReader(stream), 0)
	if err != nil || len(all) != 2000 {
		t.Fatal(len(all), err)
	}
	for i, e := range all {
		if want := bytes.Repeat([]byte{byte('a' + i%26)}, i); !bytes.Equal(e.Data, want) {
			t.Fatalf("event %d was changed", i)
		}
		_ = append(e.Data, "spoils nothing"...)
	}
}
