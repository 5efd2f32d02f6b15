package stdio

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// takeStandard duplicates the files of os.Stdin and os.Stdout, and replaces them,
// and the standard handles of the process, by the null device and standard error.
func takeStandard() (taken, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return taken{}, err
	}
	oldIn, oldOut := *os.Stdin, *os.Stdout
	restore := func() error {
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
		return taken{}, fmt.Errorf("take over standard input and output: %w", errors.Join(err, restore()))
	}
	*os.Stdin, *os.Stdout = *null, *os.Stderr
	return taken{in: in, out: out, restore: restore, restoreModes: func() {}}, nil
}

func setStandard(which int, f *os.File) error {
	if ok, _, err := setStdHandle.Call(uintptr(which), f.Fd()); ok == 0 {
		return err
	}
	return nil
}

// duplicate duplicates the handle of f.
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

// hasDeadlines reports whether Close ends a blocked Read of f.
func hasDeadlines(f *os.File) bool { return f.SetReadDeadline(time.Time{}) == nil }
