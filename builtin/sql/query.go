package sql

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
)

type query struct {
	SQL     string            `json:"sql" doc:"one statement that reads, such as SELECT … or WITH …" schema:"minLength=1,maxLength=1000000"`
	Params  []json.RawMessage `json:"params,omitzero" doc:"values for the placeholders, in order; types are kept, {\"base64\": \"…\"} is binary. Use them rather than writing values into the statement" schema:"maxItems=1000"`
	Limit   int               `json:"limit,omitzero" doc:"how many rows at most" schema:"minimum=1,maximum=10000,default=100"`
	Offset  int               `json:"offset,omitzero" doc:"how many rows to skip; the statement runs again, so give it an ORDER BY" schema:"minimum=0"`
	Format  string            `json:"format,omitzero" doc:"a table to read, rows for a program, or both" schema:"enum=both|table|rows,default=both"`
	Explain bool              `json:"explain,omitzero" doc:"get the plan of the engine in place of the rows; nothing is run"`
	Timeout int               `json:"timeoutSeconds,omitzero" doc:"cancel it in the database after this time; the server has a limit of its own" schema:"minimum=1"`
}

func (d *database) runQuery(ctx context.Context, c *mcp.Call, in query) (Rows, error) {
	params, err := readParams(in.SQL, in.Params)
	if err != nil {
		return Rows{}, err
	}
	p := &page{skip: in.Offset, maxRows: min(in.Limit, d.MaxRows), maxBytes: d.MaxBytes, format: in.Format}
	err = d.limited(ctx, c, in.Timeout, func(ctx context.Context) error {
		return d.engine.Read(ctx, engine.Query{SQL: in.SQL, Params: params, Explain: in.Explain}, p)
	})
	if err != nil {
		return Rows{}, err
	}
	return p.result(), nil
}
