package redact

import "bytes"

// A search finds out whether data contains one of many texts, in one pass that
// skips most bytes (the algorithm of Wu and Manber with blocks of two bytes).
type search struct {
	texts  [][]byte
	min    int                 // length of the shortest text
	shift  []uint8             // by block: how far the window can move
	ending map[uint16][][]byte // the texts by the last block of their first min bytes
}

// newSearch returns a search for texts of at least 2 bytes; nil if there are none.
func newSearch(texts []string) *search {
	if len(texts) == 0 {
		return nil
	}
	s := &search{min: len(texts[0]), shift: make([]uint8, 1<<16), ending: map[uint16][][]byte{}}
	for _, t := range texts {
		s.texts = append(s.texts, []byte(t))
		s.min = min(s.min, len(t), 100)
	}
	for i := range s.shift {
		s.shift[i] = uint8(s.min - 1)
	}
	for _, t := range s.texts {
		for i := 0; i+2 <= s.min; i++ {
			b := block(t[i], t[i+1])
			s.shift[b] = min(s.shift[b], uint8(s.min-2-i))
		}
		last := block(t[s.min-2], t[s.min-1])
		s.ending[last] = append(s.ending[last], t)
	}
	return s
}

func block(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// in reports whether data contains one of the texts. Nil finds nothing.
func (s *search) in(data []byte) bool {
	if s == nil {
		return false
	}
	for end := s.min; end <= len(data); {
		b := block(data[end-2], data[end-1])
		if n := s.shift[b]; n > 0 {
			end += int(n)
			continue
		}
		for _, t := range s.ending[b] {
			if bytes.HasPrefix(data[end-s.min:], t) {
				return true
			}
		}
		end++
	}
	return false
}
