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

// maxDigits bounds what a number is written with. Nobody needs more, and exact
// arithmetic on more takes time.
const maxDigits = 1000

// exactly reads the numbers of a call as they were written: 0.1 is a tenth,
// and 9007199254740993 is not rounded to an even number.
func exactly(c *mcp.Call) (a, b *big.Rat, err error) {
	var p struct {
		Arguments struct {
			A json.RawMessage `json:"a"`
			B json.RawMessage `json:"b"`
		} `json:"arguments"`
	}
	// The arguments were checked already; other members of the call are not
	// for us.
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

// parse reads a number of JSON. An exponent is looked at first: as a fraction,
// 1e-999999999 would fill the memory.
func parse(s string) (*big.Rat, error) {
	if len(s) > maxDigits {
		return nil, fmt.Errorf("the number has more than %d digits", maxDigits)
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		if e, err := strconv.Atoi(s[at+1:]); err != nil || e > 400 || e < -400 {
			return nil, errors.New("the exponent has to be between -400 and 400")
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return r, nil
}

// answerOf says a number: as the nearest float64, and exactly where that is not
// what the float64 looks like.
func answerOf(r *big.Rat) (Answer, error) {
	f, _ := r.Float64()
	short := strconv.FormatFloat(f, 'g', -1, 64)
	seen, ok := new(big.Rat).SetString(short)
	if !ok { // an infinity: JSON has no number for it
		return Answer{}, errors.New("the result is too large: choose smaller numbers")
	}
	if seen.Cmp(r) == 0 {
		return Answer{Result: f}, nil
	}
	return Answer{Result: f, Exact: exactText(r)}, nil
}

// exactText is a decimal where there is one, and a fraction otherwise.
func exactText(r *big.Rat) string {
	if digits, finite := r.FloatPrec(); finite {
		return r.FloatString(digits)
	}
	return r.RatString()
}
