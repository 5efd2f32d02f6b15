package llmtest

import "strings"

// A Refusal makes the server reject requests that have a member of the body, such
// as "reasoning.summary", with status 400.
type Refusal struct {
	Member  string // path of names
	Message string
}

// Refuse adds a refusal.
func (s *Server) Refuse(r Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, r)
}

// refused returns the message of the first refusal that applies, or "".
func (s *Server) refused(body map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.refusals {
		if has(body, r.Member) {
			return r.Message
		}
	}
	return ""
}

func has(v any, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	o, _ := v.(object)
	inner, ok := o[name]
	return ok && (!more || has(inner, rest))
}
