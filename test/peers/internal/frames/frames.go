// Package frames writes down every message that a Tenon program sends and
// receives, so that the tests can hold them against the published schemas.
package frames

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Frame is one message.
type Frame struct {
	Process int    `json:"process"`        // who wrote it down: a client may start the same server twice
	Talk    string `json:"talk,omitempty"` // which conversation of that process, where it has several
	Sent    bool   `json:"sent"`           // by that process; otherwise received
	Text    string `json:"text"`
}

// A Recording gathers frames, in memory and if wanted in a file. Its zero
// value is ready for use.
type Recording struct {
	mu     sync.Mutex
	file   *os.File
	err    error
	frames []Frame
}

// To returns a recording that also appends to a file; an empty path means
// none. The file stays open for the life of the process.
func To(path string) (*Recording, error) {
	if path == "" {
		return &Recording{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &Recording{file: f}, err
}

// Tap takes down a frame; it is for the Tap options of package era.
func (r *Recording) Tap(d jsonrpc.Direction, frame []byte) {
	r.add("", d == jsonrpc.Out, string(frame))
}

func (r *Recording) add(talk string, sent bool, text string) {
	f := Frame{Process: os.Getpid(), Talk: talk, Sent: sent, Text: text}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	if r.file == nil || r.err != nil {
		return
	}
	line, err := json.Marshal(f)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		r.err = err
		fmt.Fprintln(os.Stderr, "frames:", err)
	}
}

// Frames returns what was taken down so far.
func (r *Recording) Frames() []Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Frame(nil), r.frames...)
}

// Read returns what was written to a file.
func Read(path string) ([]Frame, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var frames []Frame
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var f Frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		frames = append(frames, f)
	}
	return frames, lines.Err()
}
