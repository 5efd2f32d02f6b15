//go:build !unix

package safefile

import "os"

// syncDir does nothing: directories cannot be synced here.
func syncDir(*os.Root, string) error { return nil }

func processAlive(int) (alive, known bool) { return false, false }

const dontWait = 0
