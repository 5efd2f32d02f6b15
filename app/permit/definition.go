package permit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// definition returns the parts of a tool that a model or a user acts on.
func definition(t *mcp.Tool) json.RawMessage {
	raw, err := mcp.Marshal(struct {
		Title        string               `json:"title,omitzero"`
		Description  string               `json:"description,omitzero"`
		InputSchema  json.RawMessage      `json:"inputSchema"`
		OutputSchema json.RawMessage      `json:"outputSchema,omitzero"`
		Annotations  *mcp.ToolAnnotations `json:"annotations,omitzero"`
	}{t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return json.RawMessage(`{}`) // a tool can always be encoded
	}
	return raw
}

// Digest returns a digest of a tool's definition, so that the user approves
// exactly what was shown.
func Digest(t *mcp.Tool) string {
	sum := sha256.Sum256(definition(t))
	return hex.EncodeToString(sum[:])
}

// Compare lists the differences between two definitions, by place. The order of
// members does not matter.
func Compare(before, after json.RawMessage) []config.Change {
	if before == nil || bytes.Equal(before, after) {
		return nil
	}
	var changes []config.Change
	compare("", decode(before), decode(after), &changes)
	return changes
}

// changes returns how a server differs from its former identity.
func (was Identity) changes(is Identity) []config.Change {
	if was == nil {
		return []config.Change{{What: "server", Before: "(approved by an older version, which did not record what the server was)", After: is.String()}}
	}
	var list []config.Change
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, fact := range slices.Sorted(maps.Keys(all)) {
		before, had := was[fact]
		after, has := is[fact]
		if before == after && had == has {
			continue
		}
		if !had {
			before = text(nil)
		}
		if !has {
			after = text(nil)
		}
		list = append(list, config.Change{What: "server " + fact, Before: visible.Text(before), After: visible.Text(after)})
	}
	return list
}

// String returns the facts on one line.
func (is Identity) String() string {
	var all []string
	for _, fact := range slices.Sorted(maps.Keys(is)) {
		all = append(all, fact+" "+is[fact])
	}
	return visible.Line(strings.Join(all, ", "))
}

func decode(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

func compare(at string, a, b any, changes *[]config.Change) {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if isX && isY {
		for _, name := range names(x, y) {
			compare(strings.TrimPrefix(at+"/"+name, "/"), x[name], y[name], changes)
		}
		return
	}
	before, after := text(a), text(b)
	if before != after {
		*changes = append(*changes, config.Change{What: at, Before: before, After: after})
	}
}

func names(x, y map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
	slices.Sort(all)
	return slices.Compact(all)
}

// text formats a value so that different values look different.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "(nothing)"
	case string:
		return visible.Text(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return visible.Text(string(raw))
}
