package leaktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// descriptors adds the open descriptors except those of the runtime's poller.
func descriptors(s snapshot) {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // the descriptor that read the directory
		}
		switch target {
		case "anon_inode:[eventpoll]", "anon_inode:[eventfd]":
			continue
		}
		s[fmt.Sprintf("descriptor %s to %s", e.Name(), target)] = "is open"
	}
}

// children adds the direct child processes, including zombies.
func children(s snapshot) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	self := os.Getpid()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		name, state, parent, ok := status(pid)
		if !ok || parent != self {
			continue
		}
		what := "runs"
		if state == "Z" {
			what = "has ended without a Wait"
		}
		s[fmt.Sprintf("child process %d (%s)", pid, name)] = what
	}
}

// status reads name, state and parent from a process's stat line. The name is
// in parentheses and may itself hold spaces and parentheses.
func status(pid int) (name, state string, parent int, ok bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", 0, false
	}
	line := string(raw)
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return "", "", 0, false
	}
	rest := strings.Fields(line[end+1:])
	if len(rest) < 2 {
		return "", "", 0, false
	}
	parent, err = strconv.Atoi(rest[1])
	return line[open+1 : end], rest[0], parent, err == nil
}
