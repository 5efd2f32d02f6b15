package sql

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
)

type query struct {
	SQL     string            `json:"sql" doc:"one statement that reads, such as SELECT … or WITH …" schema:"minLength=1,maxLength=1000000"`
	Params  []json.RawMessage `json:"params,omitzero" doc:"values for the placeholders, in order; types are kept, {\"base64\": \"…\"} is binary. Prefer them to values in the statement" schema:"maxItems=1000"`
	Limit   int               `json:"limit,omitzero" doc:"maximum number of rows" schema:"minimum=1,maximum=10000,default=100"`
	Offset  int               `json:"offset,omitzero" doc:"number of rows to skip; the statement runs again, so use ORDER BY" schema:"minimum=0"`
	Format  string            `json:"format,omitzero" doc:"table for text, rows for JSON, or both" schema:"enum=both|table|rows,default=both"`
	Explain bool              `json:"explain,omitzero" doc:"return the query plan instead of the rows, without running the query"`
	Timeout int               `json:"timeoutSeconds,omitzero" doc:"cancel the query after this time; the server's own limit still applies" schema:"minimum=1"`
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
