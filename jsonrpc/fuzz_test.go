package jsonrpc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Whatever comes in, Decode gives a message or says what to answer; and what
// it read can be written and read again without loss.
func FuzzDecode(f *testing.F) {
	add := func(in string) {
		if len(in) <= 700 { // longer ones keep the fuzzer busy with shrinking
			f.Add([]byte(in))
			f.Add([]byte("[" + in + "]"))
		}
	}
	for _, c := range goodMessages {
		add(c.in)
	}
	for _, c := range badMessages {
		add(c.in)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		m, err := Decode(data)
		if !bytes.Equal(before, data) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			checkRefusal(t, data, err)
		} else {
			roundTrip(t, m)
		}
		items, err := DecodeBatch(data, 20)
		if err != nil {
			checkRefusal(t, data, err)
		}
		for _, it := range items {
			if it.Err != nil {
				checkRefusal(t, data, it.Err)
				continue
			}
			roundTrip(t, it.Message)
		}
		if data := rawjson.Array(data); len(items) == 1 && data.Next() {
			alone, err := Decode(data.Value)
			if (err == nil) != (items[0].Err == nil) || told(alone) != told(items[0].Message) {
				t.Fatalf("%s: in a batch %s, alone %s", data.Value, told(items[0].Message), told(alone))
			}
		}
	})
}

// checkRefusal holds a DecodeError to its promises.
func checkRefusal(t *testing.T, data []byte, err error) {
	e, ok := errors.AsType[*DecodeError](err)
	if !ok || e.Reason == "" {
		t.Fatalf("%q: got %v", data, err)
	}
	if (e.Code == CodeParse) != (rawjson.Check(data) != nil) {
		t.Fatalf("%q: code %d", data, e.Code)
	}
	answer := AppendError(nil, e.ID, &Error{Code: e.Code, Message: e.Reason})
	if m, err := Decode(answer); err != nil || !m.ID.Equal(e.ID) || bytes.ContainsAny(answer, "\r\n") {
		t.Fatalf("%q: the answer %q is no message: %v", data, answer, err)
	}
}

// roundTrip writes the message and reads it again. Raw parts may lose white
// space the first time, and nothing after that.
func roundTrip(t *testing.T, m Message) {
	var first []byte
	for range 2 {
		line := encode(m)
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("%q: more than one line", line)
		}
		again, err := Decode(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !again.ID.Equal(m.ID) || again.ID.Key() != m.ID.Key() || again.Method != m.Method || again.IsRequest() != m.IsRequest() || again.IsResponse() != m.IsResponse() {
			t.Fatalf("%s became %s", told(m), told(again))
		}
		if first != nil && !bytes.Equal(line, first) {
			t.Fatalf("%q became %q", first, line)
		}
		first, m = line, again
	}
}

func encode(m Message) []byte {
	switch {
	case m.IsRequest():
		return AppendRequest(nil, m.ID, m.Method, m.Params)
	case m.IsNotification():
		return AppendNotification(nil, m.Method, m.Params)
	case m.Error != nil:
		return AppendError(nil, m.ID, m.Error)
	}
	return AppendResult(nil, m.ID, m.Result)
}
