package permit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

// records are what is known of tools, by server and tool.
type records map[string]record

func (b *Book) load() error {
	if b.file == "" {
		return nil
	}
	data, err := os.ReadFile(b.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.kept, err = read(b.file, data)
	return err
}

// read returns what a file holds. A missing one, whose data is nil, holds
// nothing.
func read(file string, data []byte) (records, error) {
	all := records{}
	if data == nil {
		return all, nil
	}
	var kept struct {
		Tools []record `json:"tools"`
	}
	if err := mcp.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w): mend it, or delete it to be asked about every tool again", file, err)
	}
	for _, r := range kept.Tools {
		var b bytes.Buffer // as definition writes it, so that most comparisons need not decode it
		if r.Definition != nil && json.Compact(&b, r.Definition) == nil {
			r.Definition = b.Bytes()
		}
		all[key(r.Server, r.Tool)] = r
	}
	return all, nil
}

// update changes the records, in the file and in memory. The file is locked
// between processes meanwhile, and the change is applied to what other processes
// have written to it; what they wrote counts here from then on. If the file
// cannot be written, the change counts in memory, is written with the next one,
// and the error is returned. b.mu must not be held.
func (b *Book) update(change func(records)) error {
	b.updating.Lock()
	defer b.updating.Unlock()
	if b.file == "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		change(b.kept)
		return nil
	}
	b.unsaved = append(b.unsaved, change)
	var all records
	err := safefile.Update(b.file, 0o600, func(old []byte) (data []byte, err error) {
		if all, err = read(b.file, old); err != nil {
			return nil, err
		}
		for _, change := range b.unsaved {
			change(all)
		}
		return write(all)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		change(b.kept)
		return fmt.Errorf("the answer could not be kept in %s: %w", b.file, err)
	}
	b.kept, b.unsaved = all, nil
	return nil
}

func write(all records) ([]byte, error) {
	kept := struct {
		Tools []record `json:"tools"`
	}{Tools: slices.SortedFunc(maps.Values(all), func(x, y record) int {
		return strings.Compare(key(x.Server, x.Tool), key(y.Server, y.Tool))
	})}
	if kept.Tools == nil {
		kept.Tools = []record{}
	}
	data, err := json.MarshalIndent(kept, "", "  ")
	return append(data, '\n'), err
}
