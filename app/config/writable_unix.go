//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writable warns if other users can change or replace a file, and so run programs
// as this user. The user's own group is not another user.
func writable(file string) []string {
	var list []string
	for _, path := range []string{file, filepath.Dir(file)} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		who, mode := "", info.Mode()
		stat, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case path != file && mode&fs.ModeSticky != 0: // others cannot replace the file
		case mode.Perm()&0o002 != 0:
			who = "every user of this machine"
		case mode.Perm()&0o020 != 0 && ok && int(stat.Gid) != os.Getgid():
			who = fmt.Sprintf("the group %d", stat.Gid)
		}
		if who != "" {
			list = append(list, fmt.Sprintf("warning: %s can be changed by %s, who could run programs as you. Run: chmod go-w %s", path, who, quote(path)))
		}
	}
	return list
}
