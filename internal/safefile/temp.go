package safefile

import (
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names of unfinished files say who writes them: .tenon-HOST-PID-RANDOM.tmp.
// That is how Sweep tells litter from a file that somebody is writing.
const (
	prefix = ".tenon-"
	suffix = ".tmp"
)

// foreignAge is after which time an unfinished file of another machine, or of a
// process that cannot be asked for, counts as litter.
const foreignAge = 10 * time.Minute

// writing holds the files that this process writes at the moment, by base name.
var writing sync.Map

var host = sync.OnceValue(func() string {
	h := fnv.New32a()
	name, _ := os.Hostname()
	h.Write([]byte(name))
	return fmt.Sprintf("%08x", h.Sum32())
})

func newTemp(dir string) (name string, done func()) {
	base := fmt.Sprintf("%s%s-%d-%s%s", prefix, host(), os.Getpid(), strings.ToLower(rand.Text()), suffix)
	writing.Store(base, true)
	return path.Join(dir, base), func() { writing.Delete(base) }
}

// IsTemp reports whether a base name is one of an unfinished file.
func IsTemp(base string) bool {
	return strings.HasPrefix(base, prefix) && strings.HasSuffix(base, suffix)
}

// Sweep removes what killed processes left in a directory, and leaves alone
// what is still being written. It returns how many files it removed.
func Sweep(root *os.Root, dir string) int {
	entries, err := fs.ReadDir(root.FS(), path.Clean(dir))
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if IsTemp(e.Name()) && e.Type().IsRegular() && SweepFile(root, path.Join(dir, e.Name())) {
			n++
		}
	}
	return n
}

// SweepFile removes one file if it is litter, and reports whether it did.
func SweepFile(root *os.Root, name string) bool {
	return IsTemp(path.Base(name)) && litter(root, name) && root.Remove(name) == nil
}

func litter(root *os.Root, name string) bool {
	base := path.Base(name)
	if _, ours := writing.Load(base); ours || base == lockName {
		return false
	}
	parts := strings.SplitN(strings.TrimSuffix(strings.TrimPrefix(base, prefix), suffix), "-", 3)
	if len(parts) == 3 && parts[0] == host() {
		if pid, err := strconv.Atoi(parts[1]); err == nil {
			if pid == os.Getpid() {
				return true // ours would be in writing: it is from an earlier life
			}
			if alive, known := processAlive(pid); known {
				return !alive
			}
		}
	}
	info, err := root.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > foreignAge
}
