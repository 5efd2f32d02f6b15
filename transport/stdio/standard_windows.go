package stdio

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// takeStandard keeps the files behind os.Stdin and os.Stdout and puts the null
// device and standard error behind those variables, also for whoever copied
// the pointers earlier, and behind the process's standard handles, for the
// programs it starts.
func takeStandard() (taken, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return taken{}, err
	}
	oldIn, oldOut := *os.Stdin, *os.Stdout
	giveBack := func() error {
		*os.Stdin, *os.Stdout = oldIn, oldOut
		return errors.Join(
			setStandard(syscall.STD_INPUT_HANDLE, os.Stdin),
			setStandard(syscall.STD_OUTPUT_HANDLE, os.Stdout),
			null.Close(),
		)
	}
	in, inErr := duplicate(os.Stdin, "stdin")
	out, outErr := duplicate(os.Stdout, "stdout")
	err = errors.Join(inErr, outErr,
		setStandard(syscall.STD_INPUT_HANDLE, null),
		setStandard(syscall.STD_OUTPUT_HANDLE, os.Stderr),
	)
	if err != nil {
		closeAll([]*os.File{in, out})
		return taken{}, fmt.Errorf("cannot take over standard input and output: %w", errors.Join(err, giveBack()))
	}
	*os.Stdin, *os.Stdout = *null, *os.Stderr
	return taken{in: in, out: out, giveBack: giveBack, calm: func() {}}, nil
}

func setStandard(which int, f *os.File) error {
	if ok, _, err := setStdHandle.Call(uintptr(which), f.Fd()); ok == 0 {
		return err
	}
	return nil
}

// duplicate opens the same file again, so that closing it leaves f open.
func duplicate(f *os.File, name string) (*os.File, error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return nil, err
	}
	var h syscall.Handle
	err = syscall.DuplicateHandle(self, syscall.Handle(f.Fd()), self, &h, 0, false, syscall.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// hasDeadlines reports whether Close ends a Read of f that waits.
func hasDeadlines(f *os.File) bool { return f.SetReadDeadline(time.Time{}) == nil }
