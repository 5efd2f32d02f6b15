//go:build !unix

package redistasks_test

import "github.com/tenon-mcp/tenon/internal/redistest"

// Windows cannot stop a process: a server that is gone has to do.
func pause(s *redistest.Server)  { s.Kill() }
func resume(s *redistest.Server) { s.Restart() }
