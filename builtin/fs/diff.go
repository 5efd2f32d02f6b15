package fs

import (
	"fmt"
	"strings"
)

// A diff is the difference of two texts in the unified format.
type diff struct {
	text           string
	added, removed int
}

// around is how many lines are shown around a change.
const around = 4

// A change is a stretch of lines that differ: some of the old ones are gone,
// and some new ones are in their place.
type change struct {
	old, oldEnd int
	new, newEnd int
}

// unified compares two texts line by line.
func unified(name, before, after string) diff {
	a, b := splitLines(before), splitLines(after)
	changes := compare(a, b)
	d := diff{}
	var w strings.Builder
	fmt.Fprintf(&w, "Index: %s\n%s\n--- %s\toriginal\n+++ %s\tmodified\n", name, strings.Repeat("=", 67), name, name)
	for len(changes) > 0 {
		n := 1 // changes that are so close that they share their surroundings
		for n < len(changes) && changes[n].old-changes[n-1].oldEnd <= 2*around {
			n++
		}
		d.hunk(&w, a, b, changes[:n])
		changes = changes[n:]
	}
	d.text = w.String()
	return d
}

func (d *diff) hunk(w *strings.Builder, a, b []string, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead, trail := min(first.old, around), min(len(a)-last.oldEnd, around)
	from, to := first.old-lead, last.oldEnd+trail
	newFrom, newTo := first.new-lead, last.newEnd+trail
	fmt.Fprintf(w, "@@ -%s +%s @@\n", extent(from, to), extent(newFrom, newTo))
	at := from
	for _, c := range changes {
		write(w, " ", a[at:c.old])
		write(w, "-", a[c.old:c.oldEnd])
		write(w, "+", b[c.new:c.newEnd])
		at = c.oldEnd
		d.removed += c.oldEnd - c.old
		d.added += c.newEnd - c.new
	}
	write(w, " ", a[at:to])
}

// extent is a range of lines as the format writes it: an empty one is named by
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

// splitLines keeps the line breaks.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare finds the changes between two lists of lines: the fewest, unless they
// are so different that looking for them would take long.
func compare(a, b []string) []change {
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
		c.old, c.oldEnd, c.new, c.newEnd = c.old+head, c.oldEnd+head, c.new+head, c.newEnd+head
	}
	return changes
}

// mostSteps bounds the search for the fewest changes.
const mostSteps = 1000

// shortest walks the edit graph of Myers: v[k] is how far in a one gets on
// diagonal k with d insertions and deletions. The fronts are kept to walk back.
func shortest(a, b []string) []change {
	if len(a) == 0 || len(b) == 0 {
		return []change{{0, len(a), 0, len(b)}}
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
	return []change{{0, len(a) - tail, 0, len(b) - tail}}
}

// walkBack follows the fronts from the end to the start and gathers what was
// not kept.
func walkBack(fronts [][]int, k int) []change {
	var changes []change
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
		step := change{old: fromX, oldEnd: fromX, new: fromY, newEnd: fromY}
		if down {
			step.newEnd++
		} else {
			step.oldEnd++
		}
		if n := len(changes); n > 0 && changes[n-1].old == step.oldEnd && changes[n-1].new == step.newEnd {
			changes[n-1].old, changes[n-1].new = step.old, step.new
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
