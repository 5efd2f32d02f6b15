package sql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// Rows is one page of a result: a table for models, columns and rows for
// programs.
type Rows struct {
	Columns []engine.Column `json:"columns"`
	// Rows is absent if the caller requested only the table.
	Rows [][]json.RawMessage `json:"rows,omitzero" doc:"integers beyond 2^53 and decimals are strings; binary data is {base64, size}; cut text is {text, size, cut}"`
	// Count is the number of rows on this page.
	Count      int    `json:"count" doc:"number of rows on this page"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more rows"`
	Note       string `json:"note,omitzero"`

	table string // text for a model; empty if only rows were requested
}

// MCPText returns the table with a summary line.
func (r Rows) MCPText() string {
	end := fmt.Sprintf("%d rows", r.Count)
	if r.Count == 1 {
		end = "1 row"
	}
	if r.NextOffset > 0 {
		end += fmt.Sprintf(", and there are more; continue with offset %d", r.NextOffset)
	}
	end += "."
	if r.Note != "" {
		end += " " + r.Note
	}
	return r.table + end
}

// A page collects rows within limits. It implements engine.Sink.
type page struct {
	skip     int // rows before this page
	maxRows  int
	maxBytes int
	keepAll  bool // do not end a statement that writes early
	format   string

	columns []engine.Column
	rows    [][]json.RawMessage
	table   strings.Builder
	seen    int
	count   int
	bytes   int
	more    bool
	cut     bool
}

// Formats of a result.
const (
	formatBoth  = "both"
	formatTable = "table"
	formatRows  = "rows"
)

// maxColumnName is the maximum number of bytes shown of a column name.
const maxColumnName = 200

func (p *page) Columns(columns []engine.Column) error {
	p.columns = slices.Clone(columns)
	for i := range p.columns { // without an alias, some engines return the whole expression
		p.columns[i].Name = textclip.Clip(p.columns[i].Name, maxColumnName)
		p.bytes += len(p.columns[i].Name) + len(p.columns[i].Type)
	}
	columns = p.columns
	if p.format != formatRows && len(columns) > 0 {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = escape(strings.TrimSpace(c.Name + " " + c.Type))
		}
		p.table.WriteString(strings.Join(heads, " | ") + "\n")
	}
	return nil
}

func (p *page) Row(values []any) error {
	p.seen++
	if p.seen <= p.skip {
		return nil
	}
	if p.more || p.count == p.maxRows {
		return p.full()
	}
	// Each value gets an equal share: a wide row must fit, and one long text
	// must not crowd out all other rows.
	limit := max(p.maxBytes/4/max(len(values), 4), 64)
	cells := make([]json.RawMessage, len(values))
	texts := make([]string, len(values))
	size, cut := 0, false
	for i, v := range values {
		c := newCell(v, limit)
		cells[i], texts[i] = c.json, c.text
		if p.format != formatTable {
			size += len(c.json) + 1
		}
		if p.format != formatRows {
			size += len(c.text) + 3
		}
		cut = cut || c.cut
	}
	if p.count > 0 && p.bytes+size > p.maxBytes {
		return p.full()
	}
	p.bytes += size
	p.count++
	p.cut = p.cut || cut
	if p.format != formatTable {
		p.rows = append(p.rows, cells)
	}
	if p.format != formatRows {
		p.table.WriteString(strings.Join(texts, " | ") + "\n")
	}
	return nil
}

func (p *page) full() error {
	p.more = true
	if p.keepAll {
		return nil
	}
	return engine.Enough
}

// result returns the collected page.
func (p *page) result() Rows {
	r := Rows{Columns: p.columns, Rows: p.rows, Count: p.count, table: p.table.String()}
	if r.Columns == nil {
		r.Columns = []engine.Column{}
	}
	if r.Rows == nil && p.format != formatTable {
		r.Rows = [][]json.RawMessage{}
	}
	if p.more && !p.keepAll {
		r.NextOffset = p.skip + p.count
	}
	var notes []string
	if p.count == 0 && p.skip > 0 {
		notes = append(notes, fmt.Sprintf("The result has only %d rows, fewer than offset %d.", p.seen, p.skip))
	}
	if p.more && p.keepAll {
		notes = append(notes, fmt.Sprintf("The statement returned %d rows; only the first are shown.", p.seen))
	}
	if p.cut {
		notes = append(notes, "Values that end in … are cut; read the rest with substr(column, from, length).")
	}
	r.Note = strings.Join(notes, " ")
	return r
}
