package permit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/definition"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// definitionOf returns the parts of a tool that a model or a user acts on.
func definitionOf(t *mcp.Tool) json.RawMessage {
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
	sum := sha256.Sum256(definitionOf(t))
	return hex.EncodeToString(sum[:])
}

// compare lists the differences between two definitions.
func compare(before, after json.RawMessage) []config.Change {
	var changes []config.Change
	for _, c := range definition.Compare(before, after) {
		changes = append(changes, config.Change(c))
	}
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
			before = definition.Nothing
		}
		if !has {
			after = definition.Nothing
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
