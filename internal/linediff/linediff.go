// Package linediff compares texts line by line and writes the difference in the
// unified format.
package linediff

import (
	"fmt"
	"strings"
)

// Context is the number of lines shown around a change.
const Context = 4

// A Change is a range of lines that differ: those of the old text are replaced by
// those of the new text.
type Change struct {
	Old, OldEnd int
	New, NewEnd int
}

// Unified returns the difference of two lists of lines in the unified format,
// without a header, and the number of lines added and removed. Lines that do not
// end with a line break are marked.
func Unified(a, b []string) (text string, added, removed int) {
	var w strings.Builder
	for changes := Compare(a, b); len(changes) > 0; {
		n := 1 // changes that are so close that they share their surroundings
		for n < len(changes) && changes[n].Old-changes[n-1].OldEnd <= 2*Context {
			n++
		}
		more, less := hunk(&w, a, b, changes[:n])
		added, removed = added+more, removed+less
		changes = changes[n:]
	}
	return w.String(), added, removed
}

func hunk(w *strings.Builder, a, b []string, changes []Change) (added, removed int) {
	first, last := changes[0], changes[len(changes)-1]
	lead, trail := min(first.Old, Context), min(len(a)-last.OldEnd, Context)
	from, to := first.Old-lead, last.OldEnd+trail
	newFrom, newTo := first.New-lead, last.NewEnd+trail
	fmt.Fprintf(w, "@@ -%s +%s @@\n", extent(from, to), extent(newFrom, newTo))
	at := from
	for _, c := range changes {
		write(w, " ", a[at:c.Old])
		write(w, "-", a[c.Old:c.OldEnd])
		write(w, "+", b[c.New:c.NewEnd])
		at = c.OldEnd
		removed += c.OldEnd - c.Old
		added += c.NewEnd - c.New
	}
	write(w, " ", a[at:to])
	return added, removed
}

// extent returns a range of lines in the unified format. An empty one is named by
// the line before it.
func extent(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func write(w *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		w.WriteString(mark)
		w.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			w.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// Split returns the lines of a text with their line breaks.
func Split(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Compare finds the changes between two lists of lines: the fewest, unless they
// are so different that looking for them would take long.
func Compare(a, b []string) []Change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	a, b = a[head:], b[head:]
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	changes := shortest(a, b)
	for i := range changes {
		c := &changes[i]
		c.Old, c.OldEnd, c.New, c.NewEnd = c.Old+head, c.OldEnd+head, c.New+head, c.NewEnd+head
	}
	return changes
}

// mostSteps bounds the search for the fewest changes.
const mostSteps = 1000

// shortest walks the edit graph of Myers: v[k] is how far in a one gets on
// diagonal k with d insertions and deletions. The fronts are kept to walk back.
func shortest(a, b []string) []Change {
	if len(a) == 0 || len(b) == 0 {
		return []Change{{0, len(a), 0, len(b)}}
	}
	limit := min(len(a)+len(b), mostSteps)
	v := make([]int, 2*limit+2)
	at := func(k int) *int { return &v[k+limit] }
	var fronts [][]int
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				x = *at(k + 1)
			} else {
				x = *at(k - 1) + 1
			}
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; x, y = x+1, y+1 {
			}
			*at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(fronts, k)
			}
		}
		fronts = append(fronts, append([]int(nil), v[limit-d:limit+d+1]...))
	}
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return []Change{{0, len(a) - tail, 0, len(b) - tail}}
}

// walkBack follows the fronts from the end to the start and gathers what was
// not kept.
func walkBack(fronts [][]int, k int) []Change {
	var changes []Change
	for d := len(fronts); d > 0; d-- {
		front := fronts[d-1] // of d-1 steps: diagonals -(d-1) … d-1
		at := func(k int) int {
			if i := k + d - 1; i >= 0 && i < len(front) {
				return front[i]
			}
			return -1
		}
		down := k == -d || k != d && at(k-1) < at(k+1)
		var fromX, fromK int
		if down {
			fromK = k + 1
			fromX = at(fromK)
		} else {
			fromK = k - 1
			fromX = at(fromK)
		}
		fromY := fromX - fromK
		step := Change{Old: fromX, OldEnd: fromX, New: fromY, NewEnd: fromY}
		if down {
			step.NewEnd++
		} else {
			step.OldEnd++
		}
		if n := len(changes); n > 0 && changes[n-1].Old == step.OldEnd && changes[n-1].New == step.NewEnd {
			changes[n-1].Old, changes[n-1].New = step.Old, step.New
		} else {
			changes = append(changes, step)
		}
		k = fromK
	}
	for i, j := 0, len(changes)-1; i < j; i, j = i+1, j-1 {
		changes[i], changes[j] = changes[j], changes[i]
	}
	return changes
}
