package notes

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

// The index is kept in the user's cache folder, so that a process that answers
// one call need not read the whole vault. It says of each note which file it
// was made from; a note whose file is another one by now is read again. A file
// that is damaged, or of another version, counts as none.

const (
	cacheForm = "tenon-notes-2\n"

	// minCached is how many notes a vault must have; fewer are read as quickly.
	minCached = 256

	// unsure is how young a file may be when it is read and still change
	// without its time showing it. FAT keeps times in steps of two seconds.
	unsure = 2 * time.Second

	maxCachedText = 1 << 20
)

// castagnoli is made when it is needed. At the start it would take a tenth of
// what all packages of the tenon command need there.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// A stamp says which state of a file was read. The zero stamp fits none.
type stamp struct {
	size     int64
	modified int64 // in nanoseconds
	changed  int64 // the same, of everything about the file; 0 where there is none
	inode    uint64
}

// stampOf is the stamp of a file that is read now.
func stampOf(info fs.FileInfo, now time.Time) stamp {
	if now.Sub(info.ModTime()) < unsure {
		return stamp{}
	}
	return fileStamp(info)
}

func fileStamp(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	s.inode, s.changed = inodeOf(info)
	return s
}

// A cache is what was kept of a vault.
type cache struct {
	notes map[string]*note
	index *bm25.Index
}

// cacheFile is where the index of a vault is kept; empty means nowhere.
func cacheFile(folder, vault string) string {
	switch folder {
	case "off":
		return ""
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(user, "tenon", "notes")
	}
	sum := sha256.Sum256([]byte(vault))
	return filepath.Join(folder, hex.EncodeToString(sum[:12])+".index")
}

// loadCache reads what was kept. Nil means that there is nothing to use.
func (v *vault) loadCache() *cache {
	if v.cacheFile == "" {
		return nil
	}
	c, err := readCache(v.cacheFile, v.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.logger().Warn("notes: the saved index cannot be used, so all notes are read", "error", err)
	}
	return c
}

func readCache(file, vault string) (c *cache, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !private(info) {
		return nil, errors.New("others may write the file")
	}
	sum := crc32.New(castagnoli())
	if _, err := io.Copy(sum, io.LimitReader(f, info.Size()-crc32.Size)); err != nil {
		return nil, err
	}
	var tail [crc32.Size]byte
	if _, err := io.ReadFull(f, tail[:]); err != nil || binary.LittleEndian.Uint32(tail[:]) != sum.Sum32() {
		return nil, errors.New("it is damaged")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	defer func() { // nothing that was written by us gets here
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("it is damaged: %v", p)
		}
	}()
	r := &cacheReader{r: bufio.NewReaderSize(f, 1<<20)}
	if r.text() != cacheForm || r.text() != vault {
		return nil, errors.Join(r.err, errors.New("it is of another version, or another vault"))
	}
	notes := make(map[string]*note)
	for range r.number() {
		n := r.note()
		if r.err != nil {
			return nil, r.err
		}
		notes[n.path] = n
	}
	index, err := bm25.Load(r.r, fieldWeights...)
	if err != nil {
		return nil, err
	}
	if index.Len() != len(notes) {
		return nil, errors.New("it is not complete")
	}
	return &cache{notes, index}, nil
}

// adopt takes over what was kept of the notes that are still the same, and
// returns the files that must be read.
func (v *vault) adopt(c *cache, files []file) (unread []file) {
	if c == nil {
		return files
	}
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range files {
		n := c.notes[f.name]
		_, touched := v.notes[f.name] // by a call that came before us
		if n == nil || touched || f.info == nil || n.stamp == (stamp{}) || n.stamp != fileStamp(f.info) {
			unread = append(unread, f)
			continue
		}
		v.notes[f.name] = n
		delete(c.notes, f.name)
	}
	for name := range c.notes { // changed, or gone
		c.index.Remove(name)
	}
	v.unsaved.Add(int64(len(c.notes)))
	v.index = c.index
	return unread
}

// saveCache keeps the index if that is worth it.
func (v *vault) saveCache() {
	if v.cacheFile == "" {
		return
	}
	v.refreshing.Lock()
	b, n := v.encodeCache()
	v.refreshing.Unlock()
	if b == nil {
		return
	}
	if err := writeCache(v.cacheFile, b); err != nil {
		v.logger().Debug("notes: the index cannot be saved", "error", err)
		return
	}
	v.unsaved.Add(-n)
}

// encodeCache returns what to keep, and how many changes are in it; nil if too
// little has changed. The caller holds refreshing.
func (v *vault) encodeCache() ([]byte, int64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	changes := v.unsaved.Load()
	if len(v.notes) < minCached || changes <= int64(max(32, len(v.notes)/100)) {
		return nil, 0
	}
	var out bytes.Buffer
	var b []byte
	b = appendText(b, cacheForm)
	b = appendText(b, v.dir)
	b = binary.AppendUvarint(b, uint64(len(v.notes)))
	for _, n := range v.notes {
		b = n.append(b)
	}
	out.Write(b)
	if v.index.Save(bufio.NewWriter(&out)) != nil {
		return nil, 0
	}
	return binary.LittleEndian.AppendUint32(out.Bytes(), crc32.Checksum(out.Bytes(), castagnoli())), changes
}

// writeCache puts a file in its place in one step. It need not survive a power
// cut: a file that is not whole counts as none.
func writeCache(file string, b []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sweepCache(dir)
	f, err := os.CreateTemp(dir, "*.tmp") // for this user only
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// sweepCache removes what processes left that were killed while they wrote.
func sweepCache(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, "*.tmp"))
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(name)
		}
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (n *note) append(b []byte) []byte {
	b = appendText(b, n.path)
	b = appendText(b, n.title)
	for _, list := range [][]string{n.tags, n.aliases, n.links} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	b = append(b, n.version[:]...)
	b = binary.AppendVarint(b, n.size)
	b = binary.AppendVarint(b, n.modified.UnixNano())
	b = binary.AppendVarint(b, n.stamp.size)
	b = binary.AppendVarint(b, n.stamp.modified)
	b = binary.AppendVarint(b, n.stamp.changed)
	return binary.AppendUvarint(b, n.stamp.inode)
}

// A cacheReader reads and remembers the first error.
type cacheReader struct {
	r   *bufio.Reader
	err error
}

func (r *cacheReader) number() uint64 {
	n, err := binary.ReadUvarint(r.r)
	r.err = errors.Join(r.err, err)
	return n
}

func (r *cacheReader) signed() int64 {
	n, err := binary.ReadVarint(r.r)
	r.err = errors.Join(r.err, err)
	return n
}

func (r *cacheReader) text() string {
	n := r.number()
	if r.err == nil && n > maxCachedText {
		r.err = errors.New("it is damaged")
	}
	if r.err != nil || n == 0 {
		return ""
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r.r, b)
	r.err = errors.Join(r.err, err)
	return string(b)
}

func (r *cacheReader) note() *note {
	n := &note{path: r.text(), title: r.text()}
	for _, list := range []*[]string{&n.tags, &n.aliases, &n.links} {
		for range r.number() {
			if r.err != nil {
				return n
			}
			*list = append(*list, r.text())
		}
		*list = slices.Clip(*list)
	}
	_, err := io.ReadFull(r.r, n.version[:])
	r.err = errors.Join(r.err, err)
	n.size, n.modified = r.signed(), time.Unix(0, r.signed())
	n.stamp = stamp{size: r.signed(), modified: r.signed(), changed: r.signed(), inode: r.number()}
	return n
}
