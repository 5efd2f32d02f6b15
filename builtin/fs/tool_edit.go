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
	Edits   []edit `json:"edits" doc:"the replacements, applied in order"`
	DryRun  bool   `json:"dryRun,omitzero" doc:"show the diff without changing the file" schema:"default=false"`
	Confirm bool   `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
}

// An edited is the result of edit_file. The diff is in the content.
type edited struct {
	Path    string `json:"path" doc:"absolute path of the file, with links resolved"`
	DryRun  bool   `json:"dryRun" doc:"whether nothing was written"`
	Added   int    `json:"added" doc:"number of lines added"`
	Removed int    `json:"removed" doc:"number of lines removed"`
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
		if err := c.confirm(AskBeforeChange, in.Confirm, fmt.Sprintf("Edit %s (%d lines added, %d removed)?", printable(p.String()), e.Added, e.Removed)); err != nil {
			return edited{}, err
		}
	}
	return safefile.Retry(ctx, func() (edited, error) { return c.writeEdit(ctx, in, p) })
}

// writeEdit edits a file under the lock of its directory. It fails with
// [safefile.ErrChanged] if another program changed the file.
func (c *call) writeEdit(ctx context.Context, in editArgs, p location) (edited, error) {
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return edited{}, c.writeError(in.Path, err)
	}
	defer unlock()
	e, err := c.planEdit(ctx, in, p)
	if err != nil && safefile.BeingWritten(p.root.dir, p.rel) { // it may have read an incomplete file
		return edited{}, fmt.Errorf("%w: the file is being written, and the edit does not fit its current content: %w", safefile.ErrChanged, err)
	}
	if err != nil || e.same() {
		return e.edited, err
	}
	if err := replaceSame(p, []byte(e.after), e.info, e.before); err != nil {
		return edited{}, c.writeError(in.Path, err)
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

// planEdit applies edits to the content of a file in memory.
func (c *call) planEdit(ctx context.Context, in editArgs, p location) (plannedEdit, error) {
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
		return plannedEdit{}, asText(in.Path, &errBinary{"it is not valid UTF-8 (binary, or text in another encoding)"})
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

// applyAll applies all edits in order, or none of them.
func (d *document) applyAll(ctx context.Context, edits []edit, most int) (*document, error) {
	for i, e := range edits {
		next, err := d.apply(e, most)
		if err == nil && len(next.raw) > most {
			err = tooLong(len(next.raw), most)
		}
		if err != nil && len(edits) > 1 {
			err = fmt.Errorf("edit %d of %d failed, nothing was changed: %w", i+1, len(edits), err)
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

// fenced puts a diff between Markdown fences that do not occur in it, or
// returns it without them if they would be very long.
func fenced(diff string, budget int) string {
	if len(diff) > budget {
		cut := strings.LastIndexByte(diff[:budget], '\n') + 1
		if cut < budget/2 { // one long line
			cut = budget
		}
		diff = strings.ToValidUTF8(diff[:cut], "") + fmt.Sprintf("\n[Diff cut: %d more bytes]\n", len(diff)-cut)
	}
	fence := strings.Repeat("`", max(3, longestRun(diff, '`')+1))
	if len(fence) > 100 {
		return diff + "\n"
	}
	return fence + "diff\n" + diff + fence + "\n\n"
}

// longestRun returns the length of the longest run of c in s.
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
