// Package typo counts the mistakes between two words, for suggestions such as
// "did you mean …?".
package typo

import (
	"slices"
	"strings"
)

// A Meter measures distances. Its zero value is ready; it is faster when it is
// used again, and not for several goroutines at once.
type Meter struct{ rows [3][]int }

// Distance returns how many letters are to be inserted, removed or replaced to
// make b out of a; two neighbours that are exchanged count once. If there are
// more than most, it returns most+1.
func (m *Meter) Distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	for i := range m.rows {
		m.rows[i] = slices.Grow(m.rows[i][:0], len(b)+1)[:len(b)+1]
	}
	before, above, row := m.rows[0], m.rows[1], m.rows[2]
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		before, above, row = above, row, before
	}
	return min(above[len(b)], most+1)
}

// Distance is [Meter.Distance] for texts.
func Distance(a, b string, most int) int {
	var m Meter
	return m.Distance([]rune(a), []rune(b), most)
}

// Nearest returns the name that is most similar to a word, in any case, or "" if
// none is.
func Nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 1+len(word)/3
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := Distance(strings.ToLower(word), strings.ToLower(n), least); d < least || best == "" && d == least {
			best, least = n, d
		}
	}
	return best
}
