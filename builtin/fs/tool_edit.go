package fs

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

type editArgs struct {
	Path    string `json:"path" doc:"the file to edit"`
	Edits   []edit `json:"edits" doc:"what to replace, in this order"`
	DryRun  bool   `json:"dryRun,omitzero" doc:"show what would be changed, and change nothing" schema:"default=false"`
	Confirm bool   `json:"confirm,omitzero" doc:"says that the person wants this, for clients that cannot ask them; only needed where the answer says so"`
}

// An edited is what was done to a file; the diff is in the content.
type edited struct {
	Path    string `json:"path" doc:"where the file really is"`
	DryRun  bool   `json:"dryRun" doc:"whether nothing was written"`
	Added   int    `json:"added" doc:"lines that are new"`
	Removed int    `json:"removed" doc:"lines that are gone"`
	text    string
}

func (e edited) MCPText() string { return e.text }

func editFile(_ context.Context, c *call, in editArgs) (edited, error) {
	p, info, err := c.existing(in.Path)
	if err != nil {
		return edited{}, err
	}
	if !in.DryRun {
		if err := c.guard(p); err != nil {
			return edited{}, err
		}
	}
	data, err := c.readAll(in.Path, p)
	if err != nil {
		return edited{}, err
	}
	if err := binary(data[:min(len(data), 8<<10)]); err != nil {
		return edited{}, asText(in.Path, err)
	}
	if !utf8.Valid(data) {
		return edited{}, asText(in.Path, &errBinary{"it is not valid UTF-8: it is binary, or text in another encoding"})
	}
	before := newDocument(string(data))
	after := before
	for i, e := range in.Edits {
		if after, err = after.apply(e); err != nil {
			if len(in.Edits) > 1 {
				err = fmt.Errorf("edit %d of %d cannot be made, and none was: %w", i+1, len(in.Edits), err)
			}
			return edited{}, err
		}
	}
	d := unified(p.String(), before.plain, after.plain)
	out := edited{Path: p.String(), DryRun: in.DryRun, Added: d.added, Removed: d.removed, text: fenced(d.text, c.MaxResult)}
	if in.DryRun || after.raw == before.raw {
		return out, nil
	}
	if err := c.agree(AskBeforeChange, in.Confirm, fmt.Sprintf("Edit %s (%d lines added, %d removed)?", printable(p.String()), d.added, d.removed)); err != nil {
		return edited{}, err
	}
	if err := replace(p, []byte(after.raw), info); err != nil {
		return edited{}, c.unwritten(in.Path, err)
	}
	c.changed(p, false)
	return out, nil
}

// fenced puts a diff between fences that do not occur in it.
func fenced(diff string, budget int) string {
	fence := "```"
	for strings.Contains(diff, fence) {
		fence += "`"
	}
	if len(diff) > budget {
		cut := strings.LastIndexByte(diff[:budget], '\n') + 1
		diff = strings.ToValidUTF8(diff[:max(cut, 1)], "") + fmt.Sprintf("[The diff is cut: %d bytes more]\n", len(diff)-cut)
	}
	return fence + "diff\n" + diff + fence + "\n\n"
}
