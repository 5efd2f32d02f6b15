package schema

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// How a JSON number fits an integer.
type fit uint8

const (
	fits fit = iota
	fraction
	tooLarge // or too small
)

// parseInt reads a JSON number as an integer. 5.0 and 50e-1 are 5, as in JSON
// Schema.
func parseInt(raw []byte) (negative bool, size uint64, f fit) {
	digits := raw
	if digits[0] == '-' {
		negative, digits = true, digits[1:]
	}
	if len(digits) > 18 {
		return parseLongInt(negative, digits)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return parseLongInt(negative, digits)
		}
		size = size*10 + uint64(c-'0')
	}
	return negative, size, fits
}

// parseLongInt reads what has a point, an exponent or many digits. It takes
// the digits apart from the power of ten, so that 1e999999999 costs nothing.
func parseLongInt(negative bool, raw []byte) (bool, uint64, fit) {
	power := 0
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		p, err := strconv.Atoi(string(raw[e+1:]))
		if err != nil || p > 1<<30 || p < -1<<30 {
			p = 1 << 30
			if bytes.HasPrefix(raw[e+1:], []byte{'-'}) {
				p = -p
			}
		}
		raw, power = raw[:e], p
	}
	whole, part, _ := bytes.Cut(raw, []byte{'.'})
	digits := append(append(make([]byte, 0, len(raw)+20), whole...), part...)
	power -= len(part)
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return negative, 0, fits
	}
	for power < 0 && digits[len(digits)-1] == '0' {
		digits, power = digits[:len(digits)-1], power+1
	}
	switch {
	case power < 0:
		return negative, 0, fraction
	case len(digits)+power > 20:
		return negative, 0, tooLarge
	}
	for range power {
		digits = append(digits, '0')
	}
	size, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return negative, 0, tooLarge
	}
	return negative, size, fits
}

// compareNumber compares a JSON number, already parsed as value, with a bound.
// Where the float is the bound itself it looks at the digits again, so that
// 10.0000000000000000001 is more than 10.
func compareNumber(raw []byte, value, bound float64) int {
	switch {
	case value < bound:
		return -1
	case value > bound:
		return 1
	case len(raw) < 16:
		return 0
	}
	exact, ok := exactly(raw)
	if !ok {
		return 0
	}
	// The bound is the decimal that the schema shows, not its nearest float.
	limit, ok := new(big.Rat).SetString(string(words.AppendFloat(nil, bound, 64)))
	if !ok {
		return 0
	}
	return exact.Cmp(limit)
}

// exactly reads a JSON number without rounding it. It refuses exponents that
// would cost much memory.
func exactly(raw []byte) (*big.Rat, bool) {
	const most = 400
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		if p, err := strconv.Atoi(string(raw[e+1:])); err != nil || p > most || p < -most {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(raw))
}
