package fs

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/safefile"
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

func editFile(ctx context.Context, c *call, in editArgs) (edited, error) {
	p, _, err := c.existing(in.Path)
	if err != nil {
		return edited{}, err
	}
	if !in.DryRun {
		if err := c.guard(p); err != nil {
			return edited{}, err
		}
	}
	if in.DryRun || c.Config.Ask == AskBeforeChange {
		e, err := c.planEdit(ctx, in, p)
		if err != nil || in.DryRun || e.same() {
			return e.edited, err
		}
		if err := c.agree(AskBeforeChange, in.Confirm, fmt.Sprintf("Edit %s (%d lines added, %d removed)?", printable(p.String()), e.Added, e.Removed)); err != nil {
			return edited{}, err
		}
	}
	return safefile.Retry(ctx, func() (edited, error) { return c.writeEdit(ctx, in, p) })
}

// writeEdit edits a file while no other call can change it, and fails with a
// [safefile.ErrChanged] if another program did.
func (c *call) writeEdit(ctx context.Context, in editArgs, p place) (edited, error) {
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return edited{}, c.unwritten(in.Path, err)
	}
	defer unlock()
	e, err := c.planEdit(ctx, in, p)
	if err != nil && safefile.BeingWritten(p.root.dir, p.rel) { // then it may be half of a file
		return edited{}, fmt.Errorf("%w: it is writing the file, and what is there now does not fit: %w", safefile.ErrChanged, err)
	}
	if err != nil || e.same() {
		return e.edited, err
	}
	if err := replaceSame(p, []byte(e.after), e.info, e.before); err != nil {
		return edited{}, c.unwritten(in.Path, err)
	}
	c.changed(p, false)
	return e.edited, nil
}

// A plannedEdit is a file before and after an edit.
type plannedEdit struct {
	edited
	info   fs.FileInfo
	before []byte
	after  string
}

func (e plannedEdit) same() bool { return string(e.before) == e.after }

// planEdit works out what edits make of a file.
func (c *call) planEdit(ctx context.Context, in editArgs, p place) (plannedEdit, error) {
	info, err := p.root.dir.Lstat(p.rel)
	if err != nil {
		return plannedEdit{}, fmt.Errorf("%s: %w", in.Path, plain(err))
	}
	data, err := c.readAll(in.Path, p, forEdits)
	if err != nil {
		return plannedEdit{}, err
	}
	if err := binary(data[:min(len(data), 8<<10)]); err != nil {
		return plannedEdit{}, asText(in.Path, err)
	}
	if !utf8.Valid(data) {
		return plannedEdit{}, asText(in.Path, &errBinary{"it is not valid UTF-8: it is binary, or text in another encoding"})
	}
	before := newDocument(string(data))
	after, err := before.applyAll(ctx, in.Edits, c.MaxFile)
	if err != nil {
		return plannedEdit{}, err
	}
	d := unified(p.String(), before.plain, after.plain)
	out := edited{Path: p.String(), DryRun: in.DryRun, Added: d.added, Removed: d.removed, text: fenced(d.text, c.MaxResult)}
	return plannedEdit{out, info, data, after.raw}, nil
}

// applyAll makes edits one after the other, or none of them.
func (d *document) applyAll(ctx context.Context, edits []edit, most int) (*document, error) {
	for i, e := range edits {
		next, err := d.apply(e, most)
		if err == nil && len(next.raw) > most {
			err = tooLong(len(next.raw), most)
		}
		if err != nil && len(edits) > 1 {
			err = fmt.Errorf("edit %d of %d cannot be made, and none was: %w", i+1, len(edits), err)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// fenced puts a diff between fences that do not occur in it, and leaves them
// out where they would be longer than anybody wants.
func fenced(diff string, budget int) string {
	if len(diff) > budget {
		cut := strings.LastIndexByte(diff[:budget], '\n') + 1
		if cut < budget/2 { // the end of one long line
			cut = budget
		}
		diff = strings.ToValidUTF8(diff[:cut], "") + fmt.Sprintf("\n[The diff is cut: %d bytes more]\n", len(diff)-cut)
	}
	fence := strings.Repeat("`", max(3, longestRun(diff, '`')+1))
	if len(fence) > 100 {
		return diff + "\n"
	}
	return fence + "diff\n" + diff + fence + "\n\n"
}

// longestRun is how often a character follows itself at most.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
