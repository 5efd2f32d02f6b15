package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// cpuTime is how much processor time a process has used, from its clock, which
// counts nanoseconds.
func cpuTime(pid int) time.Duration {
	var t syscall.Timespec
	clock := ^uintptr(pid)<<3 | 2
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}

// children returns the processes that a process has started and that run.
func children(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(raw)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// status reads a size in KiB, such as VmRSS or VmHWM.
func status(pid int, name string) float64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.SplitSeq(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var n float64
			fmt.Sscan(rest, &n)
			return n
		}
	}
	return 0
}

// forgetPeak makes VmHWM begin anew.
func forgetPeak(pid int) { os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }

// busy is how much processor time the whole machine has used, by its ticks.
func busy() time.Duration {
	raw, _ := os.ReadFile("/proc/stat")
	var user, nice, system, idle, wait, irq, soft, steal int64
	fmt.Sscanf(string(raw), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal)
	return time.Duration(user+nice+system+irq+soft+steal) * 10 * time.Millisecond
}

// machine describes where the numbers come from.
func machine() string {
	model, cores := "an unknown processor", 0
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, "model name"); ok {
			model, cores = strings.TrimLeft(rest, "\t: "), cores+1
		}
	}
	var kb float64
	raw, _ = os.ReadFile("/proc/meminfo")
	fmt.Sscanf(string(raw), "MemTotal: %f", &kb)
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d × %s, %.0f GiB, Linux %s", cores, model, kb/(1<<20), strings.TrimSpace(string(kernel)))
}

// loadAverage is that of the last minute.
func loadAverage() (load float64) {
	raw, _ := os.ReadFile("/proc/loadavg")
	fmt.Sscan(string(raw), &load)
	return load
}
