package host

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// guarded runs a step of a call. A panic in it fails the call, not the host.
func (s *Session) guarded(call *ToolCall, step func() *llm.ToolResult) (r *llm.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			err := panicked(v)
			failed := s.failCall(call, CallFailed, err.Error(), fmt.Sprintf("The call failed inside the host (%v). Whether it has done something is not known: check before you try again.", err))
			r = &failed
		}
	}()
	return step()
}

// recovering runs f and returns its panic as an error.
func recovering(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return f()
}

// panicked describes a recovered panic and where it happened. It must be called
// by the deferred function that recovers.
func panicked(v any) error {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	where := "an unknown place"
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			where = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			break
		}
		if !more {
			break
		}
	}
	return fmt.Errorf("internal error in Tenon at %s: %v", where, v)
}
