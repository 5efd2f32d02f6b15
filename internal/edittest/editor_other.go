//go:build !linux

package edittest

import "testing"

// StartEditor skips the test, because lost lines cannot be detected on this system.
func StartEditor(t *testing.T, _ string) func() ([]string, map[string]bool) {
	t.Skip("it needs a system that exchanges two names in one step")
	return nil
}

func edit(string) {}
