//go:build unix

package redistest

import "syscall"

// Pause stops the process of the server, which keeps its connections.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume continues the process after Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	cmd := s.cmd
	s.mu.Unlock()
	if err := cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
