// Package tasklist keeps a list of tasks that a person started and left running,
// in a file that several processes share. Servers do not list their tasks, so
// without it nobody could find them again.
package tasklist

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Record is a task in the list.
type Record struct {
	// Server is the server as on the command line: the name in the
	// configuration, a URL, or another target.
	Server string `json:"server"`
	ID     string `json:"taskId"`
	Tool   string `json:"tool"`
	// Started is when the call was made.
	Started time.Time `json:"started"`
	// Expires is when the server may forget the task; zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Status and Message are the last known state, of the time Checked.
	Status  string    `json:"status"`
	Message string    `json:"statusMessage,omitzero"`
	Checked time.Time `json:"checked"`
	// Session is the conversation of the host that gets the result; empty if
	// the task was started on the command line.
	Session string `json:"session,omitzero"`
	// Call is what the host needs to go on; nil without a Session.
	Call json.RawMessage `json:"call,omitzero"`
}

// Running reports whether the task had not ended when it was last checked.
func (r *Record) Running() bool { return r.Status == "working" || r.Status == "input_required" }

// Expired reports whether the server may have forgotten the task.
func (r *Record) Expired(now time.Time) bool { return !r.Expires.IsZero() && now.After(r.Expires) }

// A List is the list in a file. The file need not exist.
type List struct{ File string }

// maxRecords bounds the list. Beyond it, the oldest records are dropped, those of
// tasks that have ended first.
const maxRecords = 500

// All returns the tasks that have not expired, oldest first.
func (l List) All() ([]Record, error) {
	data, err := os.ReadFile(l.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of tasks: %w", err)
	}
	all, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read the list of tasks %s: %w; delete the file to begin again", l.File, err)
	}
	now := time.Now()
	return slices.DeleteFunc(all, func(r Record) bool { return r.Expired(now) }), nil
}

// The bounds of a record. Servers choose ids and messages.
const (
	maxID      = 1 << 10
	maxMessage = 500
	maxCall    = 64 << 10
)

// Put adds a task, or replaces the record of the same server and id. It refuses a
// task with a very long id or call.
func (l List) Put(r Record) error {
	if len(r.ID) > maxID || len(r.Call) > maxCall {
		return fmt.Errorf("task %q of %s: the id or the arguments are too long to be kept", textclip.Clip(r.ID, 50), r.Server)
	}
	r.Message = textclip.Clip(r.Message, maxMessage)
	return l.edit(func(all []Record) []Record {
		if i := index(all, r.Server, r.ID); i >= 0 {
			all[i] = r
			return all
		}
		return append(all, r)
	})
}

// Change changes the record of a task; it does nothing if there is none.
func (l List) Change(server, id string, change func(*Record)) error {
	return l.edit(func(all []Record) []Record {
		if i := index(all, server, id); i >= 0 {
			change(&all[i])
			all[i].Message = textclip.Clip(all[i].Message, maxMessage)
		}
		return all
	})
}

// Remove removes the record of a task.
func (l List) Remove(server, id string) error {
	return l.edit(func(all []Record) []Record {
		return slices.DeleteFunc(all, func(r Record) bool { return r.Server == server && r.ID == id })
	})
}

func index(all []Record, server, id string) int {
	return slices.IndexFunc(all, func(r Record) bool { return r.Server == server && r.ID == id })
}

func (l List) edit(change func([]Record) []Record) error {
	err := safefile.Update(l.File, 0o600, func(old []byte) ([]byte, error) {
		all, err := decode(old)
		if err != nil {
			return nil, fmt.Errorf("%w; delete the file to begin again", err)
		}
		return encode(bounded(change(all), time.Now()))
	})
	if err != nil {
		return fmt.Errorf("change the list of tasks %s: %w", l.File, err)
	}
	return nil
}

// bounded drops expired records, and the least useful ones beyond maxRecords.
func bounded(all []Record, now time.Time) []Record {
	all = slices.DeleteFunc(all, func(r Record) bool { return r.Expired(now) })
	if len(all) > maxRecords {
		slices.SortStableFunc(all, func(a, b Record) int {
			return cmp.Or(rank(a)-rank(b), a.Started.Compare(b.Started))
		})
		all = all[len(all)-maxRecords:]
	}
	slices.SortStableFunc(all, func(a, b Record) int { return a.Started.Compare(b.Started) })
	return all
}

func rank(r Record) int {
	if r.Running() {
		return 1
	}
	return 0
}

type file struct {
	Tasks []Record `json:"tasks"`
}

func decode(data []byte) ([]Record, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var f file
	err := mcp.Unmarshal(data, &f)
	return f.Tasks, err
}

func encode(all []Record) ([]byte, error) {
	data, err := json.MarshalIndent(file{all}, "", "  ")
	return append(data, '\n'), err
}
