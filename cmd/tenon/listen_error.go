package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
)

// listenError explains why nothing can be served at the address of a flag, and what
// to do. example is an address that the flag takes.
func listenError(flag, addr, example string, err error) error {
	var (
		invalid *net.AddrError
		unknown *net.DNSError
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return usagef("%s is in use by another program: choose another address with %s, or end that program", addr, flag)
	case errors.Is(err, fs.ErrPermission):
		return usagef("no permission to serve at %s: most systems keep ports below 1024 for the administrator; choose another address with %s", addr, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return usagef("%s is not an address of this machine: choose another one with %s, such as %s", addr, flag, example)
	case errors.As(err, &invalid), errors.As(err, &unknown):
		return usagef("%s must be an address and a port, such as %s, not %q", flag, example, addr)
	}
	return usageError{fmt.Errorf("%s: %w", flag, err)}
}
