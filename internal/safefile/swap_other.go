//go:build !linux && !darwin

package safefile

import (
	"errors"
	"os"
)

func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func lease(*os.File) (granted, writers bool) { return false, false }

func isAwaited(*os.File) bool { return false }

// RenameNew would rename without ever replacing; here nothing can do that in
// one step.
func RenameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
