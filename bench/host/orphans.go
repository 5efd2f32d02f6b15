package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// doomed is a host that is killed: it prints the processes of its servers, and
// waits.
func doomed() error {
	servers, healthy := entries(8, false)
	servers = append(servers, entry("mute", "mute"), entry("stubborn", "stubborn"))
	w, _, err := open(servers, nil)
	if err != nil {
		return err
	}
	if err := w.Ready(context.Background(), healthy...); err != nil {
		return err
	}
	for _, pid := range children(os.Getpid()) {
		fmt.Println(pid)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

// children are the processes of a process, as /proc tells.
func children(of int) []int {
	var all []int
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		if stat := status(pid); len(stat) > 1 && stat[1] == strconv.Itoa(of) {
			all = append(all, pid)
		}
	}
	return all
}

// status is what /proc says of a process from its state on: state, parent …
func status(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}

// orphans kills a host with ten servers, one of which never answers and one of
// which ignores everything but a kill, and counts what is left after two
// seconds.
func orphans(s *sheet) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-play", "host")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var pids []int
	ready := false
	for in := bufio.NewScanner(out); !ready && in.Scan(); {
		if pid, err := strconv.Atoi(in.Text()); err == nil {
			pids = append(pids, pid)
		}
		ready = in.Text() == "ready"
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	cmd.Wait()
	if !ready {
		return errors.New("the host that was to be killed did not get ready")
	}
	if len(pids) == 0 {
		s.put("orphans after the host was killed", "not measured", "", true) // there is no /proc
		return nil
	}
	alive := func() (n int) {
		for _, pid := range pids {
			if stat := status(pid); len(stat) > 0 && stat[0] != "Z" {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(2 * time.Second); alive() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	left := alive()
	s.put(fmt.Sprintf("orphans of %d, two seconds after the host was killed", len(pids)), strconv.Itoa(left), "0", left == 0)
	return nil
}
