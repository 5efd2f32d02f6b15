package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"sync"

	"github.com/tenon-mcp/tenon/schema/internal/format"
)

type kind uint8

const (
	kindAny kind = iota // {} in the schema; json v2 does the rest
	kindRaw             // {} in the schema; the bytes are kept
	kindOwn             // the type supplies its schema; json v2 does the rest
	kindBool
	kindInt
	kindUint
	kindFloat
	kindNumber // json.Number: the digits are kept
	kindString
	kindBytes
	kindTime
	kindDuration
	kindText // encoding.TextMarshaler and TextUnmarshaler
	kindStruct
	kindSlice
	kindArray
	kindMap
	kindPointer
)

// A node describes one type in one place: enough to write its schema, to decode
// and to encode it. Nodes do not change after compilation. The nodes of a
// recursive type form a cycle.
type node struct {
	kind kind
	typ  reflect.Type

	elem     *node // slice, array, map, pointer
	key      *node // map
	nullable bool  // pointer: null is a value of its own here

	fields []field        // struct, in order
	byName map[string]int // struct; nil if there are few fields

	own   json.RawMessage // kindOwn: its schema
	check *Validator      // kindOwn

	// Numbers. The bound that belongs to the kind is always set; minimum and
	// maximum are the same as JSON, or "" if the schema does not say them.
	minInt, maxInt     int64
	minUint, maxUint   uint64
	minFloat, maxFloat float64
	minimum, maximum   string
	above, below       *exact // exclusiveMinimum and exclusiveMaximum, or nil
	multiple           *exact // multipleOf, or nil

	// Text. Lengths are in code points.
	minLength, maxLength int // maxLength < 0: none
	pattern              *regexp.Regexp
	format               string

	// Items.
	minItems, maxItems int // maxItems < 0: none
	unique             bool

	// What an enum allows; the one that belongs to the kind is set.
	enum       []string // as JSON, for the schema and for messages
	isConst    bool     // there is one value, and the schema says const
	enumText   []string
	enumInts   []int64
	enumUints  []uint64
	enumFloats []float64
}

// An exact number is a bound as the schema shows it and as it is computed with.
type exact struct {
	text string
	rat  *big.Rat
}

// A field is one property of an object.
type field struct {
	name     string
	key      []byte // `"name":`
	index    []int  // more than one step if it comes from an embedded struct
	node     *node
	optional bool
	notes    notes

	omitEmpty, omitZero bool
}

// notes are the keywords that belong to the place where a type is used.
type notes struct {
	title, description string
	fallback           json.RawMessage // default
	examples           []json.RawMessage
	header             string
}

// newNode sets the bounds that a Go kind has by itself.
func newNode(k kind, t reflect.Type) *node {
	n := &node{kind: k, typ: t, maxLength: -1, maxItems: -1}
	switch k {
	case kindInt:
		n.minInt, n.maxInt = -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1
		if t.Bits() < 64 && t.Kind() != reflect.Int {
			n.minimum, n.maximum = itoa(n.minInt), itoa(n.maxInt)
		}
	case kindUint:
		n.maxUint = 1<<t.Bits() - 1
		n.minimum = "0"
		if k := t.Kind(); t.Bits() < 64 && k != reflect.Uint && k != reflect.Uintptr {
			n.maximum = utoa(n.maxUint)
		}
	case kindFloat:
		n.minFloat, n.maxFloat = math.Inf(-1), math.Inf(1)
	case kindArray:
		n.minItems, n.maxItems = t.Len(), t.Len()
	case kindTime:
		n.format = "date-time"
	case kindDuration:
		n.pattern = durationPattern()
	}
	return n
}

// durationPattern is what time.ParseDuration takes, without a plus sign and
// without a bare 0, and what Duration.String writes. It is compiled by the first
// type that has one, not at every start.
var durationPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)
})

var (
	integerKeys  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`) })
	unsignedKeys = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)$`) })
)

// integerKey is how an integer is written as the key of a map: in one way only.
func integerKey(n *node) *regexp.Regexp {
	if n.kind == kindUint {
		return unsignedKeys()
	}
	return integerKeys()
}

// isText says whether the JSON of the node is a string with free text.
func (n *node) isText() bool { return n.kind == kindString || n.kind == kindText }

func (n *node) isNumber() bool {
	return n.kind == kindInt || n.kind == kindUint || n.kind == kindFloat
}

// expects says what a value of the node is, for messages.
func (n *node) expects() string {
	switch n.kind {
	case kindBool:
		return "true or false"
	case kindInt, kindUint:
		return "an integer"
	case kindFloat, kindNumber:
		return "a number"
	case kindString, kindText:
		return "a string"
	case kindBytes:
		return "a string in base64"
	case kindTime:
		check, _ := format.Of("date-time")
		return check.Expects
	case kindDuration:
		return `a duration such as "1m30s"`
	case kindStruct, kindMap:
		return "an object"
	case kindSlice, kindArray:
		return "an array"
	case kindPointer:
		if n.nullable {
			return n.elem.expects() + " or null"
		}
		return n.elem.expects()
	}
	return "a value"
}
