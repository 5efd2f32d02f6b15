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

// A group is a job object with one server and all that it starts. Windows ends
// them when the last handle of the job is closed. Only this process has one, which
// closes when it ends.
type group struct {
	mu  sync.Mutex
	job syscall.Handle // 0 after release
}

func newGroup() (*group, error) {
	h, _, err := createJobObject.Call(0, 0)
	if h == 0 {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	limits := jobLimits{jobBasicLimits: jobBasicLimits{limitFlags: jobKillOnClose}}
	ok, _, err := setInformationJobObject.Call(h, jobExtendedLimits, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		_ = syscall.CloseHandle(syscall.Handle(h))
		return nil, fmt.Errorf("set the limits of a job object: %w", err)
	}
	return &group{job: syscall.Handle(h)}, nil
}

// CloseOnExec does nothing: on Windows, programs inherit only the standard
// handles.
func CloseOnExec() {}

// prepare makes cmd start without a window and suspended, so that it starts
// nothing before it is in the job.
func (g *group) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP | createSuspended
}

// adopt adds the suspended process to the job and resumes it.
func (g *group) adopt(p *os.Process) error {
	var failed error
	err := p.WithHandle(func(h uintptr) {
		if ok, _, err := assignProcessToJobObject.Call(uintptr(g.job), h); ok == 0 {
			failed = fmt.Errorf("assign the process to a job object: %w", err)
		} else if status, _, _ := ntResumeProcess.Call(h); int32(status) < 0 {
			failed = fmt.Errorf("resume the process: status %#x", uint32(status))
		}
	})
	if failed == nil {
		failed = err
	}
	return failed
}

// terminate does nothing: Windows has no signal to terminate a program without a
// window.
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

// endingSignal returns nil: Windows ends processes without signals.
func endingSignal(*os.ProcessState) os.Signal { return nil }
