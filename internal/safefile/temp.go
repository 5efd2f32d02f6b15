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

// The name of a temporary file identifies its writer:
// .tenon-HOST-PID-RANDOM.tmp. Sweep uses it to find files without a writer.
const (
	prefix = ".tenon-"
	suffix = ".tmp"
)

// foreignAge is the age at which a temporary file of another machine, or of
// a process that cannot be checked, is removed.
const foreignAge = 10 * time.Minute

// writing has the temporary files of this process, by base name.
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

// IsTemp reports whether a base name is that of a temporary file.
func IsTemp(base string) bool {
	return strings.HasPrefix(base, prefix) && strings.HasSuffix(base, suffix)
}

// Sweep removes the temporary files of ended processes from a directory and
// returns their number.
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

// SweepFile removes one temporary file if its process has ended, and reports
// whether it did.
func SweepFile(root *os.Root, name string) bool {
	return IsTemp(path.Base(name)) && litter(root, name) && root.Remove(name) == nil
}

func litter(root *os.Root, name string) bool {
	base := path.Base(name)
	if _, active := writing.Load(base); active || base == lockName {
		return false
	}
	parts := strings.SplitN(strings.TrimSuffix(strings.TrimPrefix(base, prefix), suffix), "-", 3)
	if len(parts) == 3 && parts[0] == host() {
		if pid, err := strconv.Atoi(parts[1]); err == nil {
			if pid == os.Getpid() {
				return true // left by an earlier process with the same ID
			}
			if alive, known := processAlive(pid); known {
				return !alive
			}
		}
	}
	info, err := root.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > foreignAge
}
