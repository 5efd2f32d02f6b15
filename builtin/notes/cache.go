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

// The index is saved in the user's cache folder, so that a short-lived
// process need not read the whole vault. It records the file that each note
// was read from; a note whose file has changed is read again. A damaged
// file, or one of another version, is ignored.

const (
	cacheForm = "tenon-notes-2\n"

	// minCached is the minimum number of notes; fewer are read as fast.
	minCached = 256

	// unsure is the age below which a file may still change without a new
	// modification time. FAT stores times in steps of two seconds.
	unsure = 2 * time.Second

	maxCachedText = 1 << 20
)

// castagnoli is made when it is needed. At the start it would take a tenth of
// what all packages of the tenon command need there.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// A stamp identifies the state of a file. The zero stamp matches none.
type stamp struct {
	size     int64
	modified int64 // in nanoseconds
	changed  int64 // status change time in nanoseconds; 0 if unknown
	inode    uint64
}

// stampOf returns the stamp of a file that is being read.
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

// A cache is the saved index of a vault.
type cache struct {
	notes map[string]*note
	index *bm25.Index
}

// cacheFile returns the path of the saved index; "" means none.
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

// loadCache reads the saved index. It returns nil if there is none that can
// be used.
func (v *vault) loadCache() *cache {
	if v.cacheFile == "" {
		return nil
	}
	c, err := readCache(v.cacheFile, v.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.logger().Warn("notes: the saved index is unusable; reading all notes", "error", err)
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
		return nil, errors.New("other users may write the file")
	}
	sum := crc32.New(castagnoli())
	if _, err := io.Copy(sum, io.LimitReader(f, info.Size()-crc32.Size)); err != nil {
		return nil, err
	}
	var tail [crc32.Size]byte
	if _, err := io.ReadFull(f, tail[:]); err != nil || binary.LittleEndian.Uint32(tail[:]) != sum.Sum32() {
		return nil, errors.New("the file is damaged")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	defer func() { // a file written by saveCache never panics
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	r := &cacheReader{r: bufio.NewReaderSize(f, 1<<20)}
	if r.text() != cacheForm || r.text() != vault {
		return nil, errors.Join(r.err, errors.New("the file is for another version or another vault"))
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
		return nil, errors.New("the file is incomplete")
	}
	return &cache{notes, index}, nil
}

// adopt uses the saved data of unchanged notes and returns the files that
// must be read.
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
		_, touched := v.notes[f.name] // by an earlier call
		if n == nil || touched || f.info == nil || n.stamp == (stamp{}) || n.stamp != fileStamp(f.info) {
			unread = append(unread, f)
			continue
		}
		v.notes[f.name] = n
		delete(c.notes, f.name)
	}
	for name := range c.notes { // changed or removed
		c.index.Remove(name)
	}
	v.unsaved.Add(int64(len(c.notes)))
	v.index = c.index
	return unread
}

// saveCache saves the index if enough has changed.
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
		v.logger().Debug("notes: saving the index failed", "error", err)
		return
	}
	v.unsaved.Add(-n)
}

// encodeCache returns the bytes to save and the number of changes in them,
// or nil if too little has changed. The caller holds refreshing.
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

// writeCache replaces a file atomically. It does not sync: an incomplete
// file is ignored.
func writeCache(file string, b []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sweepCache(dir)
	f, err := os.CreateTemp(dir, "*.tmp") // readable by this user only
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

// sweepCache removes temporary files of killed processes.
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

// A cacheReader decodes values and keeps the first error.
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
		r.err = errors.New("the file is damaged")
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
