package validate

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A number is a JSON number. It is never rounded: the float decides only where
// it can.
type number struct {
	text  []byte
	whole int64 // if small
	small bool  // an integer of up to 18 digits, written plainly
	plain bool  // or few digits with a point among them
	float float64
	rat   *big.Rat // if it was worked out before
}

// numberOf reads a number. Its size was checked when the document was read.
func numberOf(text []byte) number {
	n := number{text: text}
	if n.whole, n.small = smallInt(text); n.small {
		n.float = float64(n.whole)
	} else if n.float, n.plain = plainFloat(text); !n.plain {
		n.float, _ = strconv.ParseFloat(string(text), 64) // out of range is infinite, which is in order
	}
	return n
}

// plainFloat reads what people write, such as 19.99: few digits and no power.
// A float holds the digits and the power of ten exactly, so that dividing them
// gives the float that is nearest to the number.
func plainFloat(text []byte) (float64, bool) {
	point := bytes.IndexByte(text, '.')
	if point < 0 || len(text) > 16 {
		return 0, false
	}
	whole, fraction := text[:point], text[point+1:]
	a, ok := smallInt(whole)
	b, fine := smallInt(fraction)
	if !ok || !fine {
		return 0, false
	}
	scale := int64(1)
	for range fraction {
		scale *= 10
	}
	if whole[0] == '-' {
		b = -b
	}
	return float64(a*scale+b) / float64(scale), true
}

func smallInt(text []byte) (int64, bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > 18 {
		return 0, false
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

// String writes the number for an error.
func (n *number) String() string {
	if n.small {
		return strconv.FormatInt(n.whole, 10)
	}
	return words.Clip(string(n.text))
}

// exact gives the number as a fraction.
func (n *number) exact() *big.Rat {
	if n.rat != nil {
		return n.rat
	}
	if n.small {
		return new(big.Rat).SetInt64(n.whole)
	}
	r, ok := new(big.Rat).SetString(string(n.text))
	if !ok { // no checked number is like that
		return new(big.Rat)
	}
	return r
}

// compare is negative, zero or positive. Reading a float never changes the
// order of two numbers, it can only make them equal.
func (n *number) compare(m *number) int {
	switch {
	case n.small && m.small:
		return int(min(max(n.whole-m.whole, -1), 1))
	case n.float < m.float:
		return -1
	case n.float > m.float:
		return 1
	}
	return n.exact().Cmp(m.exact())
}

// cost is about how many steps it takes to compute with the number.
func (n *number) cost() int {
	if n.small || n.plain {
		return 0
	}
	d := decimalOf(n.text)
	return 2 + (len(d.digits)+max(d.power, -d.power))/8
}

// isMultiple says whether n is a whole number of times m, which is positive.
func (n *number) isMultiple(m *number) bool {
	if n.small && m.small {
		return n.whole%m.whole == 0
	}
	return new(big.Rat).Quo(n.exact(), m.exact()).IsInt()
}

// A decimal is the one way to write a number: its digits without zeros around
// them, and the power of ten of the last one.
type decimal struct {
	negative bool
	digits   string
	power    int
}

func decimalOf(text []byte) decimal {
	var d decimal
	var digits [400]byte
	n, fraction := 0, 0
	for i, c := range text {
		switch {
		case c == '-':
			d.negative = true
		case c == '.':
			fraction = 1
		case c|0x20 == 'e':
			d.power, _ = strconv.Atoi(string(text[i+1:]))
		case n > 0 || c != '0':
			digits[n] = c
			n++
			fallthrough
		default:
			if fraction > 0 {
				fraction++
			}
		}
		if c|0x20 == 'e' {
			break
		}
	}
	if fraction > 0 {
		d.power -= fraction - 1
	}
	for n > 0 && digits[n-1] == '0' {
		n--
		d.power++
	}
	if n == 0 {
		return decimal{} // there is one zero
	}
	d.digits = string(digits[:n])
	return d
}

// isWhole says whether a number is an integer, however it is written.
func isWhole(text []byte) bool {
	if _, ok := smallInt(text); ok {
		return true
	}
	return decimalOf(text).power >= 0
}

// natural reads an integer that counts something, up to what an int can hold.
func natural(text []byte) (int, bool) {
	d := decimalOf(text)
	if d.negative || d.power < 0 {
		return 0, false
	}
	if len(d.digits)+d.power > 18 {
		return 1<<31 - 1, true // more than there can ever be
	}
	v, _ := strconv.ParseInt("0"+d.digits, 10, 64)
	for range d.power {
		v *= 10
	}
	return int(min(v, 1<<31-1)), true
}
