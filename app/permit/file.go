package permit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

// records are what is stored about tools, by server and tool.
type records map[string]record

// load reads the file of a new book.
func (b *Book) load() error {
	if b.file == "" {
		return nil
	}
	all, stamp, err := readFile(b.file)
	b.kept, b.stamp = all, stamp
	return err
}

// readFile returns the records of a file, and its info, nil if there is none.
func readFile(name string) (records, fs.FileInfo, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return records{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	stamp, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, err
	}
	all, err := read(name, data)
	return all, stamp, err
}

// refresh reads what other processes wrote to the file. If the file can no longer
// be read, only denials still count. During an update it does nothing: the update
// reads the file.
func (b *Book) refresh() {
	if b.file == "" || !b.updating.TryLock() {
		return
	}
	defer b.updating.Unlock()
	info, err := os.Stat(b.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if b.fresh(info) {
		return
	}
	all, stamp, err := readFile(b.file)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		all, stamp = maps.Clone(b.kept), nil
		maps.DeleteFunc(all, func(_ string, r record) bool { return r.Answer != Never })
	}
	for _, change := range b.unsaved {
		change(all)
	}
	b.replace(all, stamp)
	b.stale = err != nil
}

// fresh reports whether the file is the one that was read.
func (b *Book) fresh(now fs.FileInfo) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now == nil || b.stamp == nil {
		return now == nil && b.stamp == nil && !b.stale
	}
	return os.SameFile(now, b.stamp) && now.ModTime().Equal(b.stamp.ModTime()) && now.Size() == b.stamp.Size()
}

// replace replaces the records. A removed record ends what sessions allow. b.mu
// is held.
func (b *Book) replace(all records, stamp fs.FileInfo) {
	for k := range b.kept {
		if _, still := all[k]; still {
			continue
		}
		delete(b.refused, k)
		for _, allowed := range b.sessions {
			delete(allowed, k)
		}
		delete(b.patterns, k)
	}
	b.kept, b.stamp, b.stale = all, stamp, false
}

// read parses the records of a file; nil data has none.
func read(file string, data []byte) (records, error) {
	all := records{}
	if data == nil {
		return all, nil
	}
	var kept struct {
		Tools []record `json:"tools"`
	}
	if err := mcp.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("read approvals %s: %w; fix the file, or delete it to be asked about every tool again", file, err)
	}
	for _, r := range kept.Tools {
		var b bytes.Buffer // in the form of definition, so that most comparisons need no decoding
		if r.Definition != nil && json.Compact(&b, r.Definition) == nil {
			r.Definition = b.Bytes()
		}
		all[key(r.Server, r.Tool)] = r
	}
	return all, nil
}

// update changes the records in the file and in memory. It locks the file between
// processes and applies the change to its current records, which it adopts. If
// the file cannot be written, the change counts in memory, is written with the
// next one, and the error is returned. b.mu must not be held.
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
		return fmt.Errorf("write approvals %s: %w", b.file, err)
	}
	b.replace(all, nil)
	b.unsaved, b.stale = nil, true // another process may have written since
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

// Merge adds the records of one file to another. It returns the number of added
// tools and whether the files contradict each other about a tool; then the second
// file counts, unless the first always denies the tool. The first file stays
// unchanged.
func Merge(from, to string) (added int, contradict bool, err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return 0, false, err
	}
	other, err := read(from, data)
	if err != nil {
		return 0, false, err
	}
	err = (&Book{file: to, kept: records{}}).update(func(all records) { added, contradict = all.join(other) })
	return added, contradict, err
}

// join adds records; see [Merge].
func (all records) join(other records) (added int, contradict bool) {
	for k, r := range other {
		own, known := all[k]
		switch {
		case !known:
			added++
			all[k] = r
		case !own.equal(r):
			contradict = true
			if r.Answer == Never {
				all[k] = r
			}
		}
	}
	return added, contradict
}

func (r record) equal(o record) bool {
	return r.Answer == o.Answer && slices.EqualFunc(r.Rules, o.Rules, Rule.equal) && string(r.Definition) == string(o.Definition) && maps.Equal(r.Identity, o.Identity)
}
