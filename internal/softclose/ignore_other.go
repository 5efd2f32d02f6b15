//go:build !linux

package softclose

import (
	"errors"
	"net"
)

func ignoreNew(*net.TCPListener) error { return errors.ErrUnsupported }
