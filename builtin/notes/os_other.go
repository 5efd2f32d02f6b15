//go:build !unix

package notes

import "runtime"

const (
	dontWait = 0
	windows  = runtime.GOOS == "windows"
)
