package recording

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// frames that are hard to keep in a text file.
var hardFrames = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	``, ` `, "\n", "\n\n", "a\n", "\na", "| a", "|", "-- 2 to server 0ms --", "x\n-- 2 to server 0ms --\ny",
	"{\"a\":\n1}", "[INFO] ready", "{", "\xff\xfe", "{\"a\":\"\xff\"}", "a\r\nb", "\r", "\x00", "tab\there", "\x1b[31mred", "é – ✓", "{ }  ", "  {}",
	strings.Repeat("long ", 10_000), "{\"text\":\"\u2028\"}", "\ufeff{}",
}

func TestRecordingsKeepFramesExactly(t *testing.T) {
	start := time.Date(2026, 11, 15, 10, 0, 0, 123456789, time.UTC)
	rec := &Recording{Server: "a server\n-- with a trap --", Revision: "2025-11-25", Started: start}
	for i, f := range hardFrames {
		m := speccheck.Message{Seq: uint64(i + 1), Dir: speccheck.Dir([]speccheck.Dir{speccheck.ToServer, speccheck.FromServer}[i%2]), Frame: []byte(f), At: start.Add(time.Duration(i) * 1_234_567)}
		r := speccheck.ParseFrame(m.Frame)
		m.Kind = r.Kind()
		rec.Messages = append(rec.Messages, m)
	}
	for _, k := range []speccheck.Kind{speccheck.KindStderr, speccheck.KindEvent, speccheck.KindInvalid} {
		rec.Messages = append(rec.Messages, speccheck.Message{Dir: speccheck.FromServer, Kind: k, Frame: []byte("something\nin two lines"), At: start})
	}
	var out bytes.Buffer
	if err := Write(&out, rec, &WriteOptions{KeepSecrets: true}); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	if back.Server != "a server -- with a trap --" || back.Revision != rec.Revision || !back.Started.Equal(start) {
		t.Errorf("the head is %+v", back)
	}
	if len(back.Messages) != len(rec.Messages) {
		t.Fatalf("%d messages became %d", len(rec.Messages), len(back.Messages))
	}
	for i, want := range rec.Messages {
		got := back.Messages[i]
		if !bytes.Equal(got.Frame, want.Frame) || got.Dir != want.Dir || got.Kind != want.Kind || !got.At.Equal(want.At) {
			t.Errorf("message %d went in as %s %s %q at %v, and came out as %s %s %q at %v", i, want.Dir, want.Kind, want.Frame, want.At, got.Dir, got.Kind, got.Frame, got.At)
		}
	}
}

func TestRecordingsByHand(t *testing.T) {
	rec, err := Read(strings.NewReader("A note.\n\n-- to server --\n{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n\n-- from server --\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Messages) != 2 || string(rec.Messages[0].Frame) != `{"jsonrpc":"2.0","id":1,"method":"ping"}` || rec.Messages[1].Joins != 1 || rec.Messages[0].AnsweredBy != 2 {
		t.Errorf("messages are %+v", rec.Messages)
	}
	for text, want := range map[string]string{
		"nothing":                                   "no section",
		"-- sideways --\n{}\n":                      "missing direction",
		"-- to server xms --\n{}\n":                 "milliseconds",
		"-- to server 1ms base65 --\n{}\n":          "no way to write a frame",
		"-- to server 1ms base64 --\n%%\n":          "not base64",
		"-- stderr 1ms text --\nno bar\n":           "begins with",
		"-- to server 1ms --\n{\n\"a\":\n":          "not JSON",
		"-- to server --\n":                         "empty",
		"started: yesterday\n-- to server --\n{}\n": "not a time",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives the error %v, which should speak of %q", text, err, want)
		}
	}
}

func TestRecordingsHaveNoSecrets(t *testing.T) {
	rec := NewRecording([]speccheck.Message{
		{Dir: speccheck.ToServer, Kind: speccheck.KindRequest, Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"hunter2","note":"Bearer abcdefghijklmnop"}}}`)},
		{Dir: speccheck.FromServer, Kind: speccheck.KindStderr, Frame: []byte("connecting to postgres://me:hunter2@db/x with ghp_abcdefghijklmnopqrstuvwxyz")},
	})
	var out bytes.Buffer
	if err := Write(&out, rec, nil); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "abcdefghijklmnop"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in the recording:\n%s", secret, out.String())
		}
	}
}

func FuzzRecording(f *testing.F) {
	for _, frame := range hardFrames {
		f.Add([]byte(frame), true)
	}
	f.Fuzz(func(t *testing.T, frame []byte, out bool) {
		m := speccheck.Message{Dir: speccheck.FromServer, Frame: frame}
		if out {
			m.Dir = speccheck.ToServer
		}
		r := speccheck.ParseFrame(frame)
		m.Kind = r.Kind()
		var b bytes.Buffer
		if err := Write(&b, &Recording{Messages: []speccheck.Message{m, m}}, &WriteOptions{KeepSecrets: true}); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) {
			t.Fatalf("the recording is not text: %q", b.Bytes())
		}
		back, err := Read(&b)
		if err != nil {
			t.Fatalf("%q: %v", frame, err)
		}
		if len(back.Messages) != 2 || !bytes.Equal(back.Messages[1].Frame, frame) || back.Messages[0].Dir != m.Dir {
			t.Fatalf("%q came back as %+v", frame, back.Messages)
		}
		speccheck.Explain(back.Messages[0])
	})
}

// Any text at all is read or refused, and what was read can be written.
func FuzzRead(f *testing.F) {
	f.Add([]byte("-- 1 to server 0ms --\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"))
	f.Add([]byte("started: 2026-11-15T10:00:00Z\n-- stderr 1e300ms text --\n| x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, rec, &WriteOptions{KeepSecrets: true}); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil || len(again.Messages) != len(rec.Messages) {
			t.Fatalf("what was read from %q cannot be read again: %v", text, err)
		}
		for i := range rec.Messages {
			if !bytes.Equal(rec.Messages[i].Frame, again.Messages[i].Frame) {
				t.Fatalf("message %d of %q changed from %q to %q", i, text, rec.Messages[i].Frame, again.Messages[i].Frame)
			}
		}
	})
}
