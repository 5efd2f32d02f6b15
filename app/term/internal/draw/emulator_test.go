package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// An emulator is a terminal that understands what a Terminal may write, and nothing
// else.
type emulator struct {
	width, height int
	cells         [][]cell
	x, y          int // x is width if the last column was just written
	top, bottom   int // the scroll region
	style         string
	wraps         bool
	cursor        bool
	alternate     bool
	synced        bool
	cleared       int // how often the screen was cleared
	trouble       []string
}

// A cell is a character with its style; the second cell of a wide one is empty.
type cell struct{ text, style string }

var blank = cell{text: " "}

func newEmulator(width, height int) *emulator {
	e := &emulator{wraps: true, cursor: true}
	e.resize(width, height)
	return e
}

// resize leaves nothing of use on the screen.
func (e *emulator) resize(width, height int) {
	e.width, e.height, e.top, e.bottom = width, height, 0, height-1
	e.cells = make([][]cell, height)
	for y := range e.cells {
		e.cells[y] = slices.Repeat([]cell{{text: "#"}}, width)
	}
	e.x, e.y = min(e.x, width-1), min(e.y, height-1)
}

func (e *emulator) Write(p []byte) (int, error) {
	n := len(p)
	parser := ansi.NewParser()
	for len(p) > 0 {
		seq, wide, read, _ := ansi.DecodeSequence(p, 0, parser)
		switch {
		case wide > 0:
			e.put(string(seq), wide)
		case ansi.HasCsiPrefix(seq):
			e.control(string(seq[2:]))
		case string(seq) == "\r":
			e.x = 0
		case seq[0] >= 0x80: // it belongs to the character before
			for x := e.x - 1; x >= 0; x-- {
				if c := &e.cells[e.y][x]; c.text != "" {
					c.text += string(seq)
					break
				}
			}
		default:
			e.trouble = append(e.trouble, fmt.Sprintf("%q", seq))
		}
		p = p[read:]
	}
	return n, nil
}

func (e *emulator) put(text string, wide int) {
	if e.x+wide > e.width {
		if e.wraps {
			e.trouble = append(e.trouble, "a line is continued on the next")
			e.x, e.y = 0, min(e.y+1, e.height-1)
		} else {
			e.x = e.width - wide
		}
	}
	e.erase(e.x, e.x+wide, "")
	e.cells[e.y][e.x] = cell{text, e.style}
	for i := 1; i < wide; i++ {
		e.cells[e.y][e.x+i] = cell{"", e.style}
	}
	e.x += wide
}

// erase blanks columns, and halves of wide characters beside them.
func (e *emulator) erase(from, to int, style string) {
	row := e.cells[e.y]
	if from > 0 && from < e.width && row[from].text == "" {
		row[from-1] = blank
	}
	if to < e.width && row[to].text == "" {
		row[to] = blank
	}
	for x := from; x < to; x++ {
		row[x] = cell{" ", style}
	}
}

func (e *emulator) control(seq string) {
	final, body := seq[len(seq)-1:], seq[:len(seq)-1]
	number := func(i, without int) int {
		parts := strings.Split(body, ";")
		if i < len(parts) {
			if n, err := strconv.Atoi(parts[i]); err == nil && n > 0 {
				return n
			}
		}
		return without
	}
	switch {
	case final == "m":
		if body == "" || body == "0" {
			e.style = ""
		} else {
			e.style += "[" + body + "]"
		}
	case final == "H":
		e.y, e.x = min(number(0, 1), e.height)-1, min(number(1, 1), e.width)-1
	case seq == "K":
		e.erase(min(e.x, e.width-1), e.width, e.style)
	case seq == "2J":
		e.cleared++
		for y := range e.cells {
			e.cells[y] = slices.Repeat([]cell{blank}, e.width)
		}
	case final == "r":
		e.top, e.bottom = number(0, 1)-1, number(1, e.height)-1
		e.x, e.y = 0, 0
	case final == "M" && e.y >= e.top && e.y <= e.bottom:
		for range number(0, 1) {
			e.cells = slices.Insert(slices.Delete(e.cells, e.y, e.y+1), e.bottom, slices.Repeat([]cell{{" ", e.style}}, e.width))
		}
	case final == "L" && e.y >= e.top && e.y <= e.bottom:
		for range number(0, 1) {
			e.cells = slices.Insert(slices.Delete(e.cells, e.bottom, e.bottom+1), e.y, slices.Repeat([]cell{{" ", e.style}}, e.width))
		}
	case body == "?7":
		e.wraps = final == "h"
	case body == "?25":
		e.cursor = final == "h"
	case body == "?1049":
		e.alternate = final == "h"
	case body == "?2026":
		if e.synced = final == "h"; !e.synced && e.style != "" {
			e.trouble = append(e.trouble, "a style is left")
		}
	default:
		e.trouble = append(e.trouble, fmt.Sprintf("\\x1b[%s", seq))
	}
}

// row returns the cells of a line on its own.
func row(l string, width int) []cell {
	e := newEmulator(width, 1)
	e.wraps = false
	e.cells[0] = slices.Repeat([]cell{blank}, width)
	e.Write([]byte(l))
	return e.cells[0]
}

// shows returns how what is shown differs from a frame; "" if it does not.
func (e *emulator) shows(f Frame) string {
	for y := range e.height {
		l := ""
		if y < len(f.Lines) {
			l = f.Lines[y]
		}
		if want := row(l, e.width); !slices.Equal(e.cells[y], want) {
			return fmt.Sprintf("line %d is\n%q\nnot\n%q", y, e.cells[y], want)
		}
	}
	switch {
	case len(e.trouble) > 0:
		return strings.Join(e.trouble, ", ")
	case e.style != "" || !e.wraps || e.synced || e.top != 0 || e.bottom != e.height-1:
		return fmt.Sprintf("the style %q, wrapping %v, synchronized output %v or the region %d-%d is left", e.style, e.wraps, e.synced, e.top, e.bottom)
	case e.cursor != (f.X >= 0):
		return fmt.Sprintf("the cursor is shown: %v", e.cursor)
	case e.cursor && (e.x != min(f.X, e.width-1) || e.y != min(f.Y, e.height-1)):
		return fmt.Sprintf("the cursor is at %d, %d, not at %d, %d", e.x, e.y, f.X, f.Y)
	}
	return ""
}
