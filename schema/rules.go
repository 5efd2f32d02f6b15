package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/format"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

func itoa(i int64) string  { return strconv.FormatInt(i, 10) }
func utoa(u uint64) string { return strconv.FormatUint(u, 10) }

// misfit is the error of a keyword on a field that it is not for.
func misfit(r rule, n *node) error {
	return fmt.Errorf("%s does not apply to a field of type %s", r.key, n.typ)
}

// apply puts one rule of a tag into the node, or says why it does not fit.
func (n *node) apply(r rule) error {
	switch {
	case slices.Contains(numberKeys, r.key) && n.isNumber():
		return n.applyBound(r)
	case slices.Contains(textKeys, r.key) && n.isText():
		return n.applyText(r)
	case slices.Contains(enumKeys, r.key) && (n.isNumber() || n.isText() || r.key == "const" && n.kind == kindBool):
		return n.applyEnum(r)
	case slices.Contains(itemKeys, r.key) && n.kind == kindSlice,
		r.key == "uniqueItems" && n.kind == kindArray:
		return n.applyItems(r)
	}
	return misfit(r, n)
}

func (n *node) applyBound(r rule) error {
	if r.key != "minimum" && r.key != "maximum" {
		return n.applyExact(r)
	}
	low := r.key == "minimum"
	var err error
	switch n.kind {
	case kindInt:
		var v int64
		if v, err = strconv.ParseInt(r.value, 10, 64); err == nil {
			if v < n.minInt || v > n.maxInt {
				return fmt.Errorf("%s=%s is outside the range %d to %d", r.key, r.value, n.minInt, n.maxInt)
			}
			if low {
				n.minInt, n.minimum = v, itoa(v)
			} else {
				n.maxInt, n.maximum = v, itoa(v)
			}
		}
	case kindUint:
		var v uint64
		if v, err = strconv.ParseUint(r.value, 10, 64); err == nil {
			if v < n.minUint || v > n.maxUint {
				return fmt.Errorf("%s=%s is outside the range %d to %d", r.key, r.value, n.minUint, n.maxUint)
			}
			if low {
				n.minUint, n.minimum = v, utoa(v)
			} else {
				n.maxUint, n.maximum = v, utoa(v)
			}
		}
	case kindFloat:
		var v float64
		if v, err = strconv.ParseFloat(r.value, 64); err == nil {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < n.minFloat || v > n.maxFloat {
				return fmt.Errorf("%s=%s is outside the range of the other bound or of JSON", r.key, r.value)
			}
			if low {
				n.minFloat, n.minimum = v, string(words.AppendFloat(nil, v, 64))
			} else {
				n.maxFloat, n.maximum = v, string(words.AppendFloat(nil, v, 64))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s=%s is not a value of type %s", r.key, r.value, n.typ)
	}
	return nil
}

// applyExact puts exclusiveMinimum, exclusiveMaximum or multipleOf into the
// node.
func (n *node) applyExact(r rule) error {
	text, err := n.literal(r.value)
	if err != nil {
		return fmt.Errorf("%s=%s is not a value of type %s", r.key, r.value, n.typ)
	}
	rat, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return fmt.Errorf("%s=%s is too large to compute with", r.key, r.value)
	}
	e := &exact{string(text), rat}
	switch r.key {
	case "exclusiveMinimum":
		n.above = e
	case "exclusiveMaximum":
		n.below = e
	default:
		if rat.Sign() <= 0 {
			return fmt.Errorf("multipleOf=%s must be more than 0", r.value)
		}
		n.multiple = e
	}
	return nil
}

// checkRange refuses bounds that no number can keep.
func (n *node) checkRange() error {
	low, high := n.above, n.below
	closed := false // both bounds are allowed values
	if low == nil && n.minimum != "" {
		low = ratOf(n.minimum)
	}
	if high == nil && n.maximum != "" {
		high = ratOf(n.maximum)
		closed = n.above == nil
	}
	if low == nil || high == nil {
		return nil
	}
	if c := low.rat.Cmp(high.rat); c > 0 || c == 0 && !closed {
		return fmt.Errorf("no value is between %s and %s", low.text, high.text)
	}
	return nil
}

func ratOf(text string) *exact {
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return &exact{text, rat}
}

func (n *node) applyText(r rule) (err error) {
	switch r.key {
	case "minLength":
		n.minLength, err = size(r)
	case "maxLength":
		n.maxLength, err = size(r)
	case "pattern":
		if n.pattern, err = regexp.Compile(r.value); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	case "format":
		if !slices.Contains(format.Names, r.value) {
			return fmt.Errorf("unknown format %q%s", r.value, didYouMean(r.value, format.Names))
		}
		n.format = r.value
	}
	if err == nil && n.maxLength >= 0 && n.minLength > n.maxLength {
		return fmt.Errorf("minLength=%d is greater than maxLength=%d", n.minLength, n.maxLength)
	}
	return err
}

func (n *node) applyItems(r rule) (err error) {
	switch r.key {
	case "minItems":
		n.minItems, err = size(r)
	case "maxItems":
		n.maxItems, err = size(r)
	case "uniqueItems":
		if e := n.elem; !e.isNumber() && e.kind != kindString && e.kind != kindBool {
			return errors.New("uniqueItems applies to items that are text, numbers or booleans only")
		}
		n.unique = true
	}
	if err == nil && n.maxItems >= 0 && n.minItems > n.maxItems {
		return fmt.Errorf("minItems=%d is greater than maxItems=%d", n.minItems, n.maxItems)
	}
	return err
}

func size(r rule) (int, error) {
	v, err := strconv.ParseUint(r.value, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not a count", r.key, r.value)
	}
	return int(v), nil
}

func (n *node) applyEnum(r rule) error {
	if n.enum != nil {
		return errors.New("use either enum or const")
	}
	if r.key == "const" {
		n.isConst, r.list = true, []string{r.value}
	}
	for _, text := range r.list {
		raw, err := n.literal(text)
		if err != nil {
			return fmt.Errorf("%s: %w", r.key, err)
		}
		if slices.Contains(n.enum, string(raw)) {
			return fmt.Errorf("enum: %s is repeated", raw)
		}
		n.enum = append(n.enum, string(raw))
		switch n.kind {
		case kindInt:
			v, _ := strconv.ParseInt(text, 10, 64)
			n.enumInts = append(n.enumInts, v)
		case kindUint:
			v, _ := strconv.ParseUint(text, 10, 64)
			n.enumUints = append(n.enumUints, v)
		case kindFloat:
			v, _ := strconv.ParseFloat(text, 64)
			n.enumFloats = append(n.enumFloats, v)
		default:
			n.enumText = append(n.enumText, text)
		}
	}
	return nil
}

// literal makes JSON out of a value in a tag: text for what is a string in
// JSON, numbers and true or false as they are, and JSON for everything else.
func (n *node) literal(text string) (json.RawMessage, error) {
	bad := fmt.Errorf("%s is not a value of type %s", words.Quote(text), n.typ)
	switch n.kind {
	case kindPointer:
		return n.elem.literal(text)
	case kindString, kindText, kindBytes, kindTime, kindDuration:
		return rawjson.AppendString(nil, text), nil
	case kindBool:
		if text != "true" && text != "false" {
			return nil, bad
		}
	case kindInt:
		v, err := strconv.ParseInt(text, 10, n.typ.Bits())
		if err != nil {
			return nil, bad
		}
		text = itoa(v)
	case kindUint:
		v, err := strconv.ParseUint(text, 10, n.typ.Bits())
		if err != nil {
			return nil, bad
		}
		text = utoa(v)
	case kindFloat:
		v, err := strconv.ParseFloat(text, n.typ.Bits())
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, bad
		}
		text = string(words.AppendFloat(nil, v, n.typ.Bits()))
	default:
		if err := rawjson.Check([]byte(text)); err != nil {
			return nil, fmt.Errorf("%s must be JSON for a field of type %s: %w", words.Quote(text), n.typ, err)
		}
		return rawjson.AppendCompact(nil, []byte(text)), nil
	}
	return json.RawMessage(text), nil
}
