package permit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

func (b *Book) load() error {
	if b.file == "" {
		return nil
	}
	kept, err := read(b.file)
	if err != nil {
		return err
	}
	b.kept = kept
	return nil
}

// read returns what a file holds; one that is not there holds nothing.
func read(file string) (map[string]record, error) {
	all := map[string]record{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
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

// save writes what was changed into the file, whole or not at all: a full disk
// or a crash leaves the old one. What other programs have written meanwhile
// stays. The lock is held.
func (b *Book) save(changed ...string) error {
	if b.file == "" {
		return nil
	}
	all, err := read(b.file)
	if err != nil {
		return err
	}
	for _, k := range changed {
		if r, ok := b.kept[k]; ok {
			all[k] = r
		} else {
			delete(all, k)
		}
	}
	kept := struct {
		Tools []record `json:"tools"`
	}{Tools: []record{}}
	for _, r := range all {
		kept.Tools = append(kept.Tools, r)
	}
	slices.SortFunc(kept.Tools, func(x, y record) int {
		return strings.Compare(key(x.Server, x.Tool), key(y.Server, y.Tool))
	})
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	if err := safefile.ReplacePath(b.file, append(data, '\n'), 0o600, nil); err != nil {
		return fmt.Errorf("the answer could not be kept in %s: %w", b.file, err)
	}
	return nil
}
