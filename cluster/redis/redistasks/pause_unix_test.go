//go:build unix

package redistasks_test

import "github.com/tenon-mcp/tenon/internal/redistest"

func pause(s *redistest.Server)  { s.Pause() }
func resume(s *redistest.Server) { s.Resume() }
