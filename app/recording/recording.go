package recording

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Recording is the conversation of one connection, as stored in a file.
type Recording struct {
	Server   string
	Revision mcp.Revision // empty if unknown
	Started  time.Time
	Messages []speccheck.Message // in order; their Seq counts from 1
}

// NewRecording returns a recording of the messages of one connection, as a
// [wirelog.Log] returns them.
func NewRecording(ms []speccheck.Message) *Recording {
	r := &Recording{Messages: ms}
	for i := range ms {
		if i == 0 {
			r.Server, r.Started = ms[0].Server, ms[0].At
		}
		if ms[i].Revision != "" {
			r.Revision = ms[i].Revision
		}
	}
	return r
}

const recordingTitle = "An MCP conversation, recorded by tenon."

// WriteOptions configure [Write]; nil means the defaults.
type WriteOptions struct {
	// KeepSecrets writes frames unredacted. If unset, known secrets and the
	// values of members with names like "password" are removed.
	KeepSecrets bool

	// Secrets are the known secret values.
	Secrets *redact.Values
}

// Write writes a recording as txtar: a comment, then a section for each message.
//
//	An MCP conversation, recorded by tenon.
//	server: notes
//	revision: 2025-11-25
//	started: 2026-11-15T10:00:00.5Z
//
//	-- 1 to server 0ms --
//	{"jsonrpc":"2.0","id":1,"method":"tools/list"}
//	-- 2 from server 3.25ms --
//	{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
//	-- 3 stderr 4ms text --
//	| ready
//
// The name of a section has a number for human readers, the direction (or noise,
// stderr or event), the time since the start, and the encoding if the frame is not
// one line of JSON: see docs/inspect.md. [Read] returns frames byte for byte,
// except for secrets.
func Write(w io.Writer, r *Recording, o *WriteOptions) error {
	b := bufio.NewWriter(w)
	rec := newRecorder(b, r, o)
	for i := range r.Messages {
		rec.write(&r.Messages[i])
	}
	if rec.err != nil {
		return rec.err
	}
	return b.Flush()
}

// A recorder writes sections one by one.
type recorder struct {
	w     io.Writer
	start time.Time
	n     int
	o     WriteOptions
	err   error
}

func newRecorder(w io.Writer, r *Recording, o *WriteOptions) *recorder {
	rec := &recorder{w: w, start: r.Started}
	if o != nil {
		rec.o = *o
	}
	var head strings.Builder
	fmt.Fprintln(&head, recordingTitle)
	if r.Server != "" {
		fmt.Fprintln(&head, "server:", oneLineText(r.Server))
	}
	if r.Revision != "" {
		fmt.Fprintln(&head, "revision:", oneLineText(string(r.Revision)))
	}
	if !r.Started.IsZero() {
		fmt.Fprintln(&head, "started:", r.Started.UTC().Format(time.RFC3339Nano))
	}
	fmt.Fprintln(&head)
	_, rec.err = io.WriteString(w, head.String())
	return rec
}

// oneLineText makes a text safe for one line of the comment.
func oneLineText(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
}

func (r *recorder) write(m *speccheck.Message) {
	if r.err != nil {
		return
	}
	r.n++
	frame := m.Frame
	if !r.o.KeepSecrets {
		frame = r.o.Secrets.JSON(frame)
	}
	encoding, data := encodeFrame(frame)
	way := string(m.Dir)
	switch m.Kind {
	case speccheck.KindStderr, speccheck.KindEvent:
		way = string(m.Kind)
	case speccheck.KindInvalid:
		if way = string(m.Kind); m.Dir == speccheck.ToServer {
			way = "noise to server"
		}
	}
	var at time.Duration
	if !m.At.IsZero() {
		at = m.At.Sub(r.start)
	}
	name := strconv.Itoa(r.n) + " " + way + " " + milliseconds(at)
	if encoding != "" {
		name += " " + encoding
	}
	r.err = writeSection(r.w, name, data)
}

// milliseconds formats a duration as milliseconds, without rounding.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + "ms"
}

// Read reads a recording and checks its messages. A recording may be written by
// hand: numbers are ignored, times are optional, and JSON may span several lines.
// An error names the section.
func Read(r io.Reader) (*Recording, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	a := parseArchive(text)
	rec := &Recording{}
	if err := rec.readComment(a.comment); err != nil {
		return nil, err
	}
	for i, s := range a.sections {
		m, err := rec.readSection(s)
		if err != nil {
			return nil, fmt.Errorf("section %d (%q): %w", i+1, visible.Shorten(s.name, 80), err)
		}
		m.Conn, m.Server = 1, rec.Server
		rec.Messages = append(rec.Messages, m)
	}
	if len(rec.Messages) == 0 {
		return nil, fmt.Errorf("not a recording: no section starts with a line like %q", "-- 1 to server 0ms --")
	}
	rec.Messages = speccheck.Check(rec.Messages)
	return rec, nil
}

func (r *Recording) readComment(comment []byte) error {
	for line := range bytes.Lines(comment) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), ": ")
		if !ok {
			continue
		}
		switch name {
		case "server":
			r.Server = value
		case "revision":
			r.Revision = mcp.Revision(value)
		case "started":
			at, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				return fmt.Errorf("started: %q is not a time like 2026-11-15T10:00:00Z", value)
			}
			r.Started = at
		}
	}
	return nil
}

// readSection parses a section's name and frame.
func (r *Recording) readSection(s section) (m speccheck.Message, err error) {
	words := strings.Fields(s.name)
	if len(words) > 0 {
		if _, err := strconv.Atoi(words[0]); err == nil {
			words = words[1:]
		}
	}
	words, err = readDirection(&m, words)
	if err != nil {
		return m, err
	}
	m.At = r.Started
	if len(words) > 0 && strings.HasSuffix(words[0], "ms") {
		ms, err := strconv.ParseFloat(strings.TrimSuffix(words[0], "ms"), 64)
		if err != nil || !(math.Abs(ms) < 1e12) { // false for NaN
			return m, fmt.Errorf("%q is not a time in milliseconds", words[0])
		}
		m.At = m.At.Add(time.Duration(math.Round(ms * float64(time.Millisecond))))
		words = words[1:]
	}
	encoding := strings.Join(words, " ")
	m.Frame, err = decodeFrame(encoding, s.data)
	m.Size = len(m.Frame)
	return m, err
}

func readDirection(m *speccheck.Message, words []string) ([]string, error) {
	line := strings.Join(words, " ") + " "
	for _, way := range []struct {
		text string
		dir  speccheck.Dir
		kind speccheck.Kind
	}{
		{"to server ", speccheck.ToServer, ""},
		{"from server ", speccheck.FromServer, ""},
		{"noise to server ", speccheck.ToServer, speccheck.KindInvalid},
		{"noise ", speccheck.FromServer, speccheck.KindInvalid},
		{"stderr ", speccheck.FromServer, speccheck.KindStderr},
		{"event ", speccheck.FromServer, speccheck.KindEvent},
	} {
		if rest, ok := strings.CutPrefix(line, way.text); ok {
			m.Dir, m.Kind = way.dir, way.kind
			return strings.Fields(rest), nil
		}
	}
	return nil, fmt.Errorf("missing direction: use to server, from server, noise, stderr or event")
}
