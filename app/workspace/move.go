package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// Folders are the folders of a user's files. Empty: there is none.
type Folders struct {
	Host   string // Options.Dir: sessions, approvals, the audit log
	Tokens string // logins
}

// MoveFrom moves the files of other folders here and returns what was moved, in
// words. Files that exist in both are merged: sessions and approvals are joined,
// an audit log gets its own name, and of two logins to a server the newer one
// counts. While another process uses the sessions of the other folder, the error
// wraps store.ErrInUse and nothing is moved.
func (f Folders) MoveFrom(ctx context.Context, other Folders) (moved []string, err error) {
	if !other.HasFiles() {
		return nil, nil
	}
	unlock, err := other.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if other.Host != "" {
		if moved, err = moveHost(ctx, other.Host, f.Host); err != nil {
			return moved, err
		}
	}
	some, err := moveTokens(other.Tokens, f.Tokens)
	if some {
		moved = append(moved, "logins")
	}
	return moved, err
}

// HasFiles reports whether there are files to move.
func (f Folders) HasFiles() bool {
	if f.Host != "" {
		for _, file := range []string{sessionsFile(f.Host), ToolsFile(f.Host), AuditFile(f.Host)} {
			if exists(file) {
				return true
			}
		}
	}
	return len(tokenFiles(f.Tokens)) > 0
}

// lock keeps other processes from moving the same files.
func (f Folders) lock(ctx context.Context) (unlock func(), err error) {
	dir := f.Tokens
	if f.Host != "" && exists(f.Host) {
		dir = f.Host
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	release, err := safefile.Lock(ctx, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return func() {
		release()
		_ = d.Close()
	}, nil
}

func moveHost(ctx context.Context, from, to string) (moved []string, err error) {
	if exists(sessionsFile(from)) { // first: it fails while another process uses it
		n, err := store.Merge(ctx, sessionsFile(from), sessionsFile(to))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			moved = append(moved, count(n, "session"))
		}
	}
	if exists(ToolsFile(from)) {
		n, contradict, err := permit.Merge(ToolsFile(from), ToolsFile(to))
		if err != nil {
			return moved, err
		}
		what := count(n, "approval")
		if !contradict {
			err = os.Remove(ToolsFile(from))
		} else if name, e := moveFile(ToolsFile(from), ToolsFile(to)); e != nil {
			err = e
		} else {
			what += " (all of them are in " + name + ", since some contradict yours)"
		}
		if moved = append(moved, what); err != nil {
			return moved, err
		}
	}
	if exists(AuditFile(from)) {
		name, err := moveFile(AuditFile(from), AuditFile(to))
		if err != nil {
			return moved, err
		}
		if head := audit.HeadFile(AuditFile(from)); exists(head) {
			if err := replace(head, audit.HeadFile(filepath.Join(filepath.Dir(AuditFile(to)), name))); err != nil {
				return moved, err
			}
		}
		moved = append(moved, "the audit log (as "+name+")")
	}
	return moved, nil
}

// moveFile moves a file, under another name if its name is taken, and returns the
// name.
func moveFile(from, to string) (name string, err error) {
	stem, ext := strings.TrimSuffix(to, filepath.Ext(to)), filepath.Ext(to)
	for i := 2; exists(to); i++ {
		to = fmt.Sprintf("%s-%d%s", stem, i, ext)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return filepath.Base(to), replace(from, to)
}

// replace moves a file, also to another file system.
func replace(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := safefile.WritePath(to, data, 0o600); err != nil {
		return err
	}
	return os.Remove(from)
}

// moveTokens moves logins, and reports whether there were any.
func moveTokens(from, to string) (some bool, err error) {
	for _, name := range tokenFiles(from) {
		old, at := filepath.Join(from, name), filepath.Join(to, name)
		if newer(at, old) {
			if err := os.Remove(old); err != nil {
				return some, err
			}
			continue
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return some, err
		}
		if err := replace(old, at); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}

// newer reports whether a exists and was not written before b.
func newer(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && !x.ModTime().Before(y.ModTime())
}

// tokenFiles lists the files of logins in a folder; see tokens.Files.
func tokenFiles(dir string) []string {
	if dir == "" {
		return nil
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil // the folder does not exist or cannot be read
	}
	var names []string
	for _, e := range all {
		if e.Type().IsRegular() && len(e.Name()) == 64 && strings.Trim(e.Name(), "0123456789abcdef") == "" {
			names = append(names, e.Name())
		}
	}
	return names
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
