package schema

import (
	"encoding"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/format"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// mismatch notes that a value is of the wrong JSON type.
func (d *decoder) mismatch(n *node, raw []byte) {
	d.problems.addf("", "expected %s, got %s", n.expects(), describe(raw))
}

// describe says what a JSON value is, for messages.
func describe(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		s, _ := rawjson.String(raw)
		return "the string " + words.Quote(s)
	case 't', 'f', 'n':
		return string(raw)
	}
	if len(raw) > 40 {
		return fmt.Sprintf("the number %s…", raw[:40])
	}
	return fmt.Sprintf("the number %s", raw)
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

func (d *decoder) int(n *node, raw []byte, v reflect.Value) {
	if !isNumber(raw) {
		d.mismatch(n, raw)
		return
	}
	negative, size, f := parseInt(raw)
	if f == fits && (size > 1<<63 || size == 1<<63 && !negative) {
		f = tooLarge
	}
	i := int64(size)
	if negative {
		i = -i
	}
	switch {
	case f == fraction:
		d.mismatch(n, raw)
	case f == tooLarge:
		d.outOfRange(n, negative)
	default:
		before := d.problems.count()
		if i < n.minInt || i > n.maxInt {
			d.outOfRange(n, i < n.minInt)
		}
		if n.hasExact() {
			d.exact(n, new(big.Rat).SetInt64(i))
		}
		if n.enum != nil && !slices.Contains(n.enumInts, i) {
			d.notInEnum(n, raw)
		}
		if d.problems.count() == before {
			v.SetInt(i)
		}
	}
}

func (d *decoder) uint(n *node, raw []byte, v reflect.Value) {
	if !isNumber(raw) {
		d.mismatch(n, raw)
		return
	}
	negative, u, f := parseInt(raw)
	below := negative && u > 0 || f == tooLarge && negative
	switch {
	case f == fraction:
		d.mismatch(n, raw)
	case below || f == tooLarge:
		d.outOfRange(n, below)
	default:
		before := d.problems.count()
		if u < n.minUint || u > n.maxUint {
			d.outOfRange(n, u < n.minUint)
		}
		if n.hasExact() {
			d.exact(n, new(big.Rat).SetUint64(u))
		}
		if n.enum != nil && !slices.Contains(n.enumUints, u) {
			d.notInEnum(n, raw)
		}
		if d.problems.count() == before {
			v.SetUint(u)
		}
	}
}

func (d *decoder) float(n *node, raw []byte, v reflect.Value) {
	if !isNumber(raw) {
		d.mismatch(n, raw)
		return
	}
	value, err := strconv.ParseFloat(string(raw), 64)
	single := n.typ.Kind() == reflect.Float32 && math.Abs(value) > math.MaxFloat32
	if err != nil || single {
		d.problems.addf("", "%s is outside the range of a %d-bit number", describe(raw), n.typ.Bits())
		return
	}
	before := d.problems.count()
	if n.minimum != "" && compareNumber(raw, value, n.minFloat) < 0 {
		d.outOfRange(n, true)
	}
	if n.maximum != "" && compareNumber(raw, value, n.maxFloat) > 0 {
		d.outOfRange(n, false)
	}
	if n.hasExact() {
		digits, ok := exactly(raw)
		if !ok {
			digits = new(big.Rat).SetFloat64(value)
		}
		d.exact(n, digits)
	}
	if n.enum != nil && !slices.ContainsFunc(n.enumFloats, func(e float64) bool { return compareNumber(raw, value, e) == 0 }) {
		d.notInEnum(n, raw)
	}
	if d.problems.count() == before {
		v.SetFloat(value)
	}
}

// hasExact says whether a number has rules that are computed without rounding.
func (n *node) hasExact() bool { return n.above != nil || n.below != nil || n.multiple != nil }

// exact holds a number to exclusiveMinimum, exclusiveMaximum and multipleOf.
func (d *decoder) exact(n *node, v *big.Rat) {
	if n.above != nil && v.Cmp(n.above.rat) <= 0 {
		d.problems.addf("", "must be more than %s", n.above.text)
	}
	if n.below != nil && v.Cmp(n.below.rat) >= 0 {
		d.problems.addf("", "must be less than %s", n.below.text)
	}
	if n.multiple != nil && !new(big.Rat).Quo(v, n.multiple.rat).IsInt() {
		d.problems.addf("", "must be a multiple of %s", n.multiple.text)
	}
}

func (d *decoder) outOfRange(n *node, below bool) {
	low, high := n.minimum, n.maximum
	switch {
	case below && low != "":
		d.problems.addf("", "must be at least %s", low)
	case !below && high != "":
		d.problems.addf("", "must be at most %s", high)
	default:
		d.problems.addf("", "is outside the range of a %d-bit integer", n.typ.Bits())
	}
}

func (d *decoder) notInEnum(n *node, raw []byte) {
	if n.isConst {
		d.problems.addf("", "must be %s, got %s", n.enum[0], describe(raw))
		return
	}
	d.problems.addf("", "%s is not allowed; use one of %s", describe(raw), words.List(n.enum))
}

// text decodes everything that is a string in JSON.
func (d *decoder) text(n *node, raw []byte, v reflect.Value) {
	s, ok := rawjson.String(raw)
	if !ok {
		d.mismatch(n, raw)
		return
	}
	switch n.kind {
	case kindTime:
		t, ok := format.ParseDateTime(s)
		if !ok {
			d.mismatch(n, raw)
			return
		}
		*v.Addr().Interface().(*time.Time) = t
		return
	case kindDuration:
		t, err := time.ParseDuration(s)
		if err != nil || !n.pattern.MatchString(s) {
			d.mismatch(n, raw)
			return
		}
		v.SetInt(int64(t))
		return
	case kindBytes:
		d.bytes(n, raw, s, v)
		return
	}
	if !d.textRules(n, raw, s) || d.rulesOnly && n.kind == kindText {
		return
	}
	if n.kind == kindString {
		v.SetString(s)
		return
	}
	u, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok { // it can only be written
		d.foreign(n, raw, v)
	} else if err := u.UnmarshalText([]byte(s)); err != nil {
		d.problems.addf("", "%s is not valid: %s", describe(raw), short(err))
	}
}

// textRules holds text to the rules of a tag.
func (d *decoder) textRules(n *node, raw []byte, s string) bool {
	before := d.problems.count()
	if n.minLength > 0 || n.maxLength >= 0 {
		count := utf8.RuneCountInString(s)
		switch {
		case count < n.minLength:
			d.problems.addf("", "must have at least %s, not %d", words.Characters(n.minLength), count)
		case n.maxLength >= 0 && count > n.maxLength:
			d.problems.addf("", "must have at most %s, not %d", words.Characters(n.maxLength), count)
		}
	}
	if n.pattern != nil && !n.pattern.MatchString(s) {
		d.problems.addf("", "%s does not match the pattern %s", describe(raw), n.pattern)
	}
	if n.format != "" {
		if check, ok := format.Of(n.format); ok && !check.Valid(s) {
			d.problems.addf("", "expected %s, got %s", check.Expects, describe(raw))
		}
	}
	if n.enum != nil && !slices.Contains(n.enumText, s) {
		d.notInEnum(n, raw)
	}
	return d.problems.count() == before
}

func (d *decoder) bytes(n *node, raw []byte, s string, v reflect.Value) {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		d.mismatch(n, raw)
		return
	}
	if v.Kind() == reflect.Slice {
		v.SetBytes(data)
		return
	}
	if len(data) != v.Len() {
		d.problems.addf("", "must be %d bytes in base64, not %d", v.Len(), len(data))
		return
	}
	reflect.Copy(v, reflect.ValueOf(data))
}

// foreign decodes what has its own way of being read, or none.
func (d *decoder) foreign(n *node, raw []byte, v reflect.Value) {
	switch n.kind {
	case kindRaw:
		v.SetBytes(append([]byte(nil), raw...))
		return
	case kindOwn:
		var problems *Problems
		if d.tolerant && rawjson.IsNull(raw) && n.check.Check(raw) != nil {
			v.SetZero()
			return
		}
		if err := n.check.Check(raw); errors.As(err, &problems) {
			for _, p := range problems.List {
				d.problems.addf(p.Path, "%s", p.Message)
			}
			d.problems.More += problems.More
			return
		} else if err != nil {
			d.problems.addf("", "%s", short(err))
			return
		}
	}
	if d.rulesOnly {
		return
	}
	if err := jsonv2.Unmarshal(raw, v.Addr().Interface()); err != nil {
		d.problems.addf("", "%s is not valid here: %s", describe(raw), short(err))
	}
}
