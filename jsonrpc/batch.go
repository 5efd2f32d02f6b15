package jsonrpc

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A BatchItem is one message of a batch, or the [*DecodeError] for it.
type BatchItem struct {
	Message
	Err error
}

// IsBatch reports whether data, if it is valid JSON, is an array.
func IsBatch(data []byte) bool { return rawjson.IsArray(data) }

// DecodeBatch decodes a batch of at most max messages; max <= 0 means no limit.
// As with [Decode], data is validated once and the messages hold slices of it.
// The error is a [*DecodeError] for the batch as a whole; errors of single
// messages are in their items.
func DecodeBatch(data []byte, max int) ([]BatchItem, error) {
	if err := rawjson.Check(data); err != nil {
		return nil, notJSON(err)
	}
	if !rawjson.IsArray(data) {
		return nil, &DecodeError{Code: CodeInvalidRequest, Reason: "not a batch: expected a JSON array"}
	}
	var items []BatchItem
	for e := rawjson.Array(data); e.Next(); {
		if max > 0 && len(items) == max {
			return nil, &DecodeError{Code: CodeInvalidRequest, Reason: fmt.Sprintf("the batch has more than %d messages", max)}
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

// decodeChecked decodes a message from JSON that has been validated.
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
