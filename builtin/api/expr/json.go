package expr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"
)

// maxDepth is the maximum nesting of JSON.
const maxDepth = 200

// Decode decodes JSON to the values of expressions: nil, bool, int, *big.Int,
// float64, string, []any and map[string]any. Integers keep all their digits.
// Invalid UTF-8 is replaced.
func Decode(data []byte) (any, error) {
	dec := &decoder{Decoder: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	v, err := dec.decode(0)
	if err != nil {
		return nil, plainError(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("invalid JSON: there is more after the value")
	}
	return v, nil
}

// plainError shortens an error of the decoder, which may quote the data.
func plainError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: it ends too early")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("invalid JSON at byte %d", syntax.ByteOffset)
	}
	return err
}

// Bounds of the memory that decoded JSON takes beside its texts.
const (
	maxValues              = 128 << 20 // bytes
	valueSize              = 16        // of a value in an array
	arraySize              = 24
	objectSize, memberSize = 48, 40
)

// A decoder counts the memory that values take: {} has 2 bytes and takes 64.
type decoder struct {
	*jsontext.Decoder
	size int
}

func (dec *decoder) decode(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("invalid JSON: nested more than %d deep", maxDepth)
	}
	if dec.size += valueSize; dec.size > maxValues {
		return nil, fmt.Errorf("invalid JSON: its values take more than %d MiB", maxValues>>20)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case '[':
		dec.size += arraySize
		list := []any{}
		for dec.PeekKind() != ']' {
			item, err := dec.decode(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = dec.ReadToken()
		return list, err
	}
	dec.size += objectSize
	members := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		dec.size += memberSize
		if members[key], err = dec.decode(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err = dec.ReadToken()
	return members, err
}

func number(text string) (any, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	if len(text) > 1000 {
		return nil, errors.New("invalid JSON: a number has more than 1000 digits")
	}
	if n, ok := new(big.Int).SetString(text, 10); ok {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.New("invalid JSON: a number is too large")
	}
	return f, nil
}

// Encode returns the JSON of a value. Names are sorted.
func Encode(v any) ([]byte, error) { return gojq.Marshal(v) }

// Text returns a value as text: a string as it is, null as "", others as JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := Encode(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
