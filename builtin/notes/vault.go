package notes

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Weights of a word by where it occurs.
const (
	titleWeight   = 5
	tagWeight     = 4
	headingWeight = 2
	bodyWeight    = 1
)

var fieldWeights = []float64{titleWeight, tagWeight, headingWeight, bodyWeight}

// A vault is a folder of notes and its index.
type vault struct {
	root    *os.Root
	dir     string
	grants  *Grants
	poll    time.Duration
	log     *slog.Logger
	changes *server.Server // receives the list of resources and their changes

	refreshing sync.Mutex // serializes reads of files, so that the last read wins

	mu    sync.RWMutex
	notes map[string]*note // by path
	index *bm25.Index      // replaced once, by adopt

	cacheFile string       // path of the saved index; empty means none
	unsaved   atomic.Int64 // notes read or dropped since the last save

	ready        chan struct{} // closed once all notes have been read
	listed       chan struct{} // closed once all notes are resources
	done, total  atomic.Int64  // progress of reading
	failed       atomic.Pointer[error]
	announceable bool // changes update the resource list; guarded by refreshing
}

// A note is the index entry of a file. It is immutable.
type note struct {
	path     string
	title    string
	tags     []string // lower case, without #, sorted
	aliases  []string
	links    []string // see linkKey
	modified time.Time
	size     int64
	version  version
	stamp    stamp // of the file, for the cache
}

// wait waits until the vault has been read and reports progress.
func (v *vault) wait(ctx context.Context, c *mcp.Call) error { return v.waitFor(ctx, c, v.ready) }

func (v *vault) waitFor(ctx context.Context, c *mcp.Call, what <-chan struct{}) error {
	select {
	case <-what:
		return v.failure()
	default:
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-what:
			return v.failure()
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			done, total := v.done.Load(), v.total.Load()
			if total > 0 {
				server.Progress(c, float64(done), float64(total), fmt.Sprintf("reading the vault: %d of %d notes", done, total))
			}
		}
	}
}

// failure returns why the vault could not be read.
func (v *vault) failure() error {
	if err := v.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// get returns a note by its path, or nil.
func (v *vault) get(name string) *note {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.notes[name]
}

// visible returns the notes that a caller may read, unordered.
func (v *vault) visible(a access, keep func(*note) bool) []*note {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []*note
	for _, n := range v.notes {
		if a.reads(n.path) && (keep == nil || keep(n)) {
			all = append(all, n)
		}
	}
	return all
}

// find returns the path of the note that a caller names: the note with this
// path, or else the only readable note with this name, ignoring case. A note
// that the caller may not read does not exist.
func (v *vault) find(ctx context.Context, c *mcp.Call, input string) (string, error) {
	name, err := cleanPath(input)
	if err != nil {
		return "", err
	}
	a := v.access(&c.Caller)
	if a.reads(name) {
		if info, err := v.root.Lstat(name); err == nil && !info.IsDir() {
			return name, v.namedError(name)
		}
	}
	if err := v.wait(ctx, c); err != nil {
		return "", err
	}
	k := key(name)
	same := v.visible(a, func(n *note) bool { return endsWith(key(n.path), k) })
	slices.SortFunc(same, func(x, y *note) int {
		return cmp.Or(cmp.Compare(len(x.path), len(y.path)), cmp.Compare(x.path, y.path))
	})
	switch {
	case len(same) == 1 || len(same) > 1 && key(same[0].path) == k && key(same[1].path) != k:
		return same[0].path, nil
	case len(same) == 0:
		return "", noNote(name)
	}
	var names []string
	for _, n := range same[:min(len(same), 5)] {
		names = append(names, n.path)
	}
	return "", fmt.Errorf("%q is ambiguous: %s, such as %s; give the full path", clip(input), plural(len(same), "note"), strings.Join(names, ", "))
}

func (v *vault) namedError(name string) error {
	if err := v.checkLinks(name); err != nil {
		return fileError(name, err)
	}
	return nil
}

// endsWith reports whether long equals short or ends with it after a slash.
func endsWith(long, short string) bool {
	return strings.HasSuffix(long, short) && (len(long) == len(short) || long[len(long)-len(short)-1] == '/')
}

// hasTag reports whether a note has a tag or a nested one: "work/urgent" is
// nested in "work".
func (n *note) hasTag(tag string) bool {
	return slices.ContainsFunc(n.tags, func(t string) bool {
		return t == tag || strings.HasPrefix(t, tag) && t[len(tag)] == '/'
	})
}

// filter returns a predicate for notes with a tag in a folder.
func filter(tag, folder string) (func(*note) bool, error) {
	tag = cleanTag(tag)
	folder = strings.TrimSuffix(folder, "/")
	if folder != "" {
		clean, err := cleanFolder(folder)
		if err != nil {
			return nil, err
		}
		folder = clean
	}
	return func(n *note) bool { return (tag == "" || n.hasTag(tag)) && inside(n.path, folder) }, nil
}

// cleanTag normalizes a tag.
func cleanTag(input string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(input), "#/"))
}

// newNote returns the index entry of a file.
func newNote(name string, info fs.FileInfo, f *facts, ver version) *note {
	n := &note{path: name, modified: info.ModTime(), size: info.Size(), version: ver, stamp: stampOf(info, time.Now())}
	if f != nil {
		n.title, n.tags, n.aliases, n.links = f.title, f.tags, f.aliases, f.links
	}
	n.title = cmp.Or(n.title, baseName(name))
	return n
}
