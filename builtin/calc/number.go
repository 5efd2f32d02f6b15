package calc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// maxDigits is the maximum length of a number, since exact arithmetic on long
// numbers takes time.
const maxDigits = 1000

// exactArguments returns the numbers of a call as written: 0.1 is a tenth, and
// 9007199254740993 is not rounded.
func exactArguments(c *mcp.Call) (a, b *big.Rat, err error) {
	var p struct {
		Arguments struct {
			A json.RawMessage `json:"a"`
			B json.RawMessage `json:"b"`
		} `json:"arguments"`
	}
	// The arguments were validated already; ignore other members of the call.
	var members map[string]json.RawMessage
	if err := mcp.Unmarshal(c.Params, &members); err != nil {
		return nil, nil, err
	}
	if err := mcp.Unmarshal(members["arguments"], &p.Arguments); err != nil {
		return nil, nil, err
	}
	if a, err = parse(string(p.Arguments.A)); err != nil {
		return nil, nil, fmt.Errorf("a: %w", err)
	}
	if b, err = parse(string(p.Arguments.B)); err != nil {
		return nil, nil, fmt.Errorf("b: %w", err)
	}
	return a, b, nil
}

// parse parses a JSON number. It checks the exponent first: as a fraction,
// 1e-999999999 would use up the memory.
func parse(s string) (*big.Rat, error) {
	if len(s) > maxDigits {
		return nil, fmt.Errorf("the number has more than %d digits", maxDigits)
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		if e, err := strconv.Atoi(s[at+1:]); err != nil || e > 400 || e < -400 {
			return nil, errors.New("the exponent must be between -400 and 400")
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return r, nil
}

// newResult returns a number as the nearest float64, and exactly if the float64
// differs from it.
func newResult(r *big.Rat) (Result, error) {
	f, _ := r.Float64()
	short := strconv.FormatFloat(f, 'g', -1, 64)
	seen, ok := new(big.Rat).SetString(short)
	if !ok { // an infinity, which JSON cannot represent
		return Result{}, errors.New("the result is too large; use smaller numbers")
	}
	if seen.Cmp(r) == 0 {
		return Result{Result: f}, nil
	}
	return Result{Result: f, Exact: exactText(r)}, nil
}

// exactText returns a finite decimal, or else a fraction.
func exactText(r *big.Rat) string {
	if digits, finite := r.FloatPrec(); finite {
		return r.FloatString(digits)
	}
	return r.RatString()
}
