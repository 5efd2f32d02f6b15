package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxRecord is the size in bytes above which the largest values of a record are
// replaced by their size and digest.
const maxRecord = 64 << 10

// bounded returns a record that is small enough for the log. It replaces the
// largest members of an object first, and any other value as a whole.
func bounded(record json.RawMessage) (json.RawMessage, error) {
	if len(record) <= maxRecord {
		return record, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil {
		return digest(record)
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(members[b]), len(members[a])), strings.Compare(a, b))
	})
	size := len(record)
	for _, name := range names {
		if size <= maxRecord {
			break
		}
		short, err := digest(members[name])
		if err != nil {
			return nil, err
		}
		size += len(short) - len(members[name])
		members[name] = short
	}
	if size > maxRecord { // very many members, or very long names
		return digest(record)
	}
	return json.Marshal(members)
}

// digest replaces a value that is too large.
func digest(value json.RawMessage) (json.RawMessage, error) {
	sum := sha256.Sum256(value)
	return json.Marshal(map[string]any{"omitted": "too large for the audit log", "bytes": len(value), "sha256": hex.EncodeToString(sum[:])})
}
