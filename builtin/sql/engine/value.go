package engine

import "encoding/json"

// A Decimal is an exact decimal number, such as "0.10".
type Decimal string

// Bytes is binary data, of which only the beginning may have been read.
type Bytes struct {
	Head []byte
	Size int64 // total number of bytes
}

// JSON is the value of a JSON column as the engine returned it.
type JSON json.RawMessage
