package web

import (
	"errors"
	"net/http"
)

var errTaskEnded = errors.New("this task is not running: it has ended, or was started by another program")

// tasks returns the calls that servers run, or have run, as tasks.
func (s *Server) tasks(*http.Request) (any, error) {
	return map[string]any{"tasks": s.work.Host.Tasks()}, nil
}

// A taskRef names a task in a request.
type taskRef struct {
	Server string `json:"server"`
	ID     string `json:"id"`
}

func (s *Server) backgroundTask(r *http.Request) (any, error) {
	var q taskRef
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if err := s.work.Host.BackgroundTask(q.Server, q.ID); err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return struct{}{}, nil
}

func (s *Server) cancelTask(r *http.Request) (any, error) {
	var q taskRef
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if !s.runs(q) {
		return nil, fault{http.StatusConflict, errTaskEnded}
	}
	return struct{}{}, s.work.Host.CancelTask(r.Context(), q.Server, q.ID)
}

// runs reports whether a task has not ended.
func (s *Server) runs(q taskRef) bool {
	for _, t := range s.work.Host.Tasks() {
		if t.Server == q.Server && t.ID == q.ID {
			return !t.Over
		}
	}
	return false
}
