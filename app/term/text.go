package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// columns returns the width of a text in columns, without its styles.
func columns(s string) int { return ansi.StringWidth(s) }

// cut shortens a line to most columns.
func cut(s string, most int) string {
	if most <= 0 {
		return ""
	}
	return ansi.Truncate(s, most, "…")
}

// pad fills a line with spaces, or cuts it.
func pad(s string, to int) string {
	s = cut(s, to)
	if n := to - columns(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// wrap breaks safe text into lines.
func wrap(s string, width int) []string {
	return lay(ansi.Wrap(strings.ReplaceAll(s, "\t", "    "), max(width, 1), ""), width)
}

// lay breaks a text that may be styled into lines that can be shown
// independently.
func lay(s string, width int) []string {
	s = strings.ReplaceAll(strings.TrimRight(s, "\n"), "\t", "    ")
	var all []string
	for line := range strings.SplitSeq(s, "\n") {
		if columns(line) > width {
			all = append(all, strings.Split(ansi.Hardwrap(line, max(width, 1), true), "\n")...)
			continue
		}
		all = append(all, line)
	}
	return carry(all)
}

const unstyled = "\x1b[0m"

// carry repeats styles that are open at the end of a line on the next one.
func carry(lines []string) []string {
	open := ""
	for i, line := range lines {
		before := open
		for at := 0; ; {
			from := strings.Index(line[at:], "\x1b[")
			if from < 0 {
				break
			}
			from += at
			end := strings.IndexByte(line[from:], 'm')
			if end < 0 {
				break
			}
			at = from + end + 1
			if style := line[from:at]; style == unstyled || style == "\x1b[m" {
				open = ""
			} else {
				open += style
			}
		}
		if line = before + line; open != "" {
			line += unstyled
		}
		lines[i] = line
	}
	return lines
}

// printed returns the lines that a Printer writes.
func printed(width int, color bool, write func(p *show.Printer)) []string {
	var b strings.Builder
	write(&show.Printer{W: &b, Width: width, Color: color})
	if b.Len() == 0 {
		return nil
	}
	return lay(b.String(), width)
}

// indented puts first before the first line and rest before the others.
func indented(lines []string, first, rest string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if i == 0 {
			out[i] = first + l
		} else {
			out[i] = rest + l
		}
	}
	return out
}

// line makes a text safe for one line.
func line(s string) string { return visible.Line(strings.TrimSpace(s)) }

// elapsed formats a duration in short.
func elapsed(d time.Duration) string {
	switch {
	case d < 100*time.Microsecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// count formats a number and its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// thousands formats a number of tokens in short.
func thousands(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
