package engine

import "encoding/json"

// A Decimal is a number in its exact digits, such as "0.10".
type Decimal string

// Bytes are binary data, of which the beginning may be all that was fetched.
type Bytes struct {
	Head []byte
	Size int64 // how many bytes there are
}

// JSON is the value of a JSON column, as the engine wrote it.
type JSON json.RawMessage
