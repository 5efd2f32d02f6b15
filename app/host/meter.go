package host

import "github.com/tenon-mcp/tenon/app/llm"

// ContextUsed returns about how many tokens of the model's context the
// conversation takes: as the provider counted them for the last request and its
// answer, or else estimated from the length of the text.
func (s *Session) ContextUsed() int {
	s.mu.Lock()
	known, last, all := s.context, s.last, s.talk.messages()
	s.mu.Unlock()
	if known > 0 || len(all) == 0 {
		return known
	}
	r := &llm.Request{Messages: all}
	if last != nil {
		r.System, r.Tools = last.System, last.Tools
	}
	return estimate(r)
}

// measure records what a request and its answer have used.
func (s *Session) measure(r *llm.Request, used llm.Usage) {
	n := used.Read() + used.Output
	if n == 0 {
		n = estimate(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = n
}

// unmeasured records that the conversation has changed since it was measured.
func (s *Session) unmeasured() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = 0
}

// estimate returns about how many tokens a request has, at four bytes a token.
func estimate(r *llm.Request) int { return sizeOf(r) / 4 }

// StoredMessages returns the conversation as it is saved: without known secrets and
// without arguments whose names are those of secrets.
func (s *Session) StoredMessages() []llm.Message {
	all := s.Messages()
	for i, m := range all {
		all[i] = s.host.stored(m)
	}
	return all
}
