package jsonrpc

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A BatchItem is one message of a batch, or the [*DecodeError] that says why
// it is none.
type BatchItem struct {
	Message
	Err error
}

// IsBatch reports whether data, if it is JSON at all, is an array.
func IsBatch(data []byte) bool { return rawjson.IsArray(data) }

// DecodeBatch reads a batch of at most max messages; 0 or less means any
// number. As with [Decode] the whole of data is checked once and the messages
// hold slices of it. The error is a [*DecodeError] for the batch as a whole;
// what is wrong with one message is told in its item.
func DecodeBatch(data []byte, max int) ([]BatchItem, error) {
	if err := rawjson.Check(data); err != nil {
		return nil, notJSON(err)
	}
	if !rawjson.IsArray(data) {
		return nil, &DecodeError{Code: CodeInvalidRequest, Reason: "a batch is a JSON array, and this is not one"}
	}
	var items []BatchItem
	for e := rawjson.Array(data); e.Next(); {
		if max > 0 && len(items) == max {
			return nil, &DecodeError{Code: CodeInvalidRequest, Reason: fmt.Sprintf("the batch has more than %d messages: send fewer at a time", max)}
		}
		var item BatchItem
		item.Message, item.Err = decodeChecked(e.Value)
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil, &DecodeError{Code: CodeInvalidRequest, Reason: "the batch is empty"}
	}
	return items, nil
}

// decodeChecked reads a message from JSON that was checked.
func decodeChecked(raw []byte) (Message, error) {
	if !rawjson.IsObject(raw) {
		return Message{}, notObject(raw)
	}
	var p parts
	for m := rawjson.Object(raw); m.Next(); {
		p.put(m.Name, m.Value)
	}
	return p.message()
}
