//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writable warns if other users can change a file or put another in its place:
// they could have programs run as this user. A group that is the user's own, as
// on systems where each user has one, counts as the user.
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
			list = append(list, fmt.Sprintf("warning: %s can be changed by %s, who could have programs run as you. Run: chmod go-w %s", path, who, quote(path)))
		}
	}
	return list
}
