package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

var (
	kernel32 = syscall.NewLazyDLL("kernel32.dll")
	ntdll    = syscall.NewLazyDLL("ntdll.dll")

	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
	setStdHandle             = kernel32.NewProc("SetStdHandle")
	ntResumeProcess          = ntdll.NewProc("NtResumeProcess")
)

const (
	createSuspended           = 0x4
	jobExtendedLimits         = 9      // JobObjectExtendedLimitInformation
	jobKillOnClose            = 0x2000 // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	exitCodeOfKilled  uintptr = 1
)

// jobBasicLimits is JOBOBJECT_BASIC_LIMIT_INFORMATION.
type jobBasicLimits struct {
	perProcessUserTimeLimit int64
	perJobUserTimeLimit     int64
	limitFlags              uint32
	minimumWorkingSetSize   uintptr
	maximumWorkingSetSize   uintptr
	activeProcessLimit      uint32
	affinity                uintptr
	priorityClass           uint32
	schedulingClass         uint32
}

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION. On 32 bits Windows pads
// its first part to a multiple of eight bytes, and Go would not.
type jobLimits struct {
	jobBasicLimits
	_                     [(8 - unsafe.Sizeof(jobBasicLimits{})%8) % 8]byte
	ioCounters            [6]uint64
	processMemoryLimit    uintptr
	jobMemoryLimit        uintptr
	peakProcessMemoryUsed uintptr
	peakJobMemoryUsed     uintptr
}

// A group is a job object that holds one server and all that it starts.
// Windows ends them when the last handle to the job is closed, and the only
// handle is this process's: it is closed however this process ends.
type group struct {
	mu  sync.Mutex
	job syscall.Handle // 0 after release
}

func newGroup() (*group, error) {
	h, _, err := createJobObject.Call(0, 0)
	if h == 0 {
		return nil, fmt.Errorf("cannot create a job object: %w", err)
	}
	limits := jobLimits{jobBasicLimits: jobBasicLimits{limitFlags: jobKillOnClose}}
	ok, _, err := setInformationJobObject.Call(h, jobExtendedLimits, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		_ = syscall.CloseHandle(syscall.Handle(h))
		return nil, fmt.Errorf("cannot set up a job object: %w", err)
	}
	return &group{job: syscall.Handle(h)}, nil
}

// CloseOnExec does nothing: on Windows programs inherit the standard handles
// alone.
func CloseOnExec() {}

// prepare makes cmd start without a window and asleep, so that it cannot start
// anything before it is in the job. Go passes on the three standard handles
// and no others.
func (g *group) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP | createSuspended
}

// adopt puts the sleeping process into the job and wakes it.
func (g *group) adopt(p *os.Process) error {
	var failed error
	err := p.WithHandle(func(h uintptr) {
		if ok, _, err := assignProcessToJobObject.Call(uintptr(g.job), h); ok == 0 {
			failed = fmt.Errorf("cannot put the process into a job object: %w", err)
		} else if status, _, _ := ntResumeProcess.Call(h); int32(status) < 0 {
			failed = fmt.Errorf("cannot resume the process: status %#x", uint32(status))
		}
	})
	if failed == nil {
		failed = err
	}
	return failed
}

// terminate does nothing: Windows has no polite signal for a program without
// a window. Closing its input was the polite part.
func (g *group) terminate() {}

// kill ends every process of the job.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_, _, _ = terminateJobObject.Call(uintptr(g.job), exitCodeOfKilled)
	}
}

// release closes the job.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = syscall.CloseHandle(g.job)
		g.job = 0
	}
}
