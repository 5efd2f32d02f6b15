package speccheck

// follow passes a message whose Seq is known to a conversation.
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

// Check checks a whole conversation. The messages must be of one connection and
// in order. Check returns copies with Kind, Method, Joins, Problems and the other
// derived fields set.
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
