package speccheck

// follow follows a conversation with a message that is known already.
func follow(t *Conversation, m *Message) {
	if m.Kind == KindStderr || m.Kind == KindEvent {
		m.ShapeChecked = true
		return
	}
	read := ParseFrame(m.Frame)
	for _, o := range t.Follow(m, &read, true) {
		o.Seq = m.Seq
	}
	m.Problems = append(m.Problems, CheckShape(m)...)
	m.ShapeChecked = true
}

// Check judges a conversation as a whole: it returns the messages, which must be
// of one connection and in order, with what they are, what they belong to and
// which rules they break. A [wirelog.Log] does the same as messages come.
func Check(ms []Message) []Message {
	var t Conversation
	out := make([]Message, len(ms))
	answered := map[uint64]int{}
	for i, m := range ms {
		m.Problems, m.Joins, m.AnsweredBy, m.Duration = nil, 0, 0, 0
		m.Size = max(m.Size, len(m.Frame))
		if m.Seq == 0 {
			m.Seq = uint64(i + 1)
		}
		follow(&t, &m)
		out[i] = m
		answered[m.Seq] = i
		if j, ok := answered[m.Joins]; ok && (m.Kind == KindResponse || m.Kind == KindError) {
			out[j].AnsweredBy = m.Seq
		}
	}
	return out
}
