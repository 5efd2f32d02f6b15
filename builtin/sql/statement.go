package sql

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type statement struct {
	SQL     string            `json:"sql" doc:"one statement, such as INSERT, UPDATE, DELETE or CREATE TABLE; it runs in its own transaction" schema:"minLength=1,maxLength=1000000"`
	Params  []json.RawMessage `json:"params,omitzero" doc:"values for the placeholders, in order; types are kept, {\"base64\": \"…\"} is binary" schema:"maxItems=1000"`
	Confirm bool              `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
	Timeout int               `json:"timeoutSeconds,omitzero" doc:"cancel the statement after this time; the server's own limit still applies" schema:"minimum=1"`
}

// Changed is the result of run_statement.
type Changed struct {
	Changed int64 `json:"changedRows" doc:"number of rows changed"`
	LastID  int64 `json:"lastId,omitzero" doc:"the key generated for the last new row"`
	// Returned has the rows of a RETURNING clause.
	Returned *Rows `json:"returned,omitzero" doc:"rows of a RETURNING clause"`
}

// MCPText returns a summary.
func (c Changed) MCPText() string {
	text := fmt.Sprintf("%d rows changed.", c.Changed)
	if c.LastID != 0 {
		text += fmt.Sprintf(" The key of the last new row is %d.", c.LastID)
	}
	if c.Returned != nil {
		text += "\n" + c.Returned.MCPText()
	}
	return text
}

// approval is the form that asks the user for confirmation.
type approval struct {
	Run bool `json:"run" doc:"run it; otherwise nothing is changed" schema:"title=Run it"`
}

func (d *database) runStatement(ctx context.Context, c *mcp.Call, in statement) (Changed, error) {
	params, err := readParams(in.SQL, in.Params)
	if err != nil {
		return Changed{}, err
	}
	if err := d.approve(c, in); err != nil {
		return Changed{}, err
	}
	p := &page{maxRows: d.MaxRows, maxBytes: d.MaxBytes, format: formatBoth, keepAll: true}
	var changed engine.Changed
	err = d.limited(ctx, c, in.Timeout, func(ctx context.Context) error {
		changed, err = d.engine.Write(ctx, engine.Query{SQL: in.SQL, Params: params}, p)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w. Check with run_query whether it took effect before you run it again", err)
		}
		return err
	})
	if err != nil {
		return Changed{}, err
	}
	d.listInBackground() // it may have created or dropped a table
	out := Changed{Changed: changed.Rows, LastID: changed.LastID}
	if len(p.columns) > 0 {
		rows := p.result()
		out.Returned = &rows
	}
	return out, nil
}

// approve asks the user to confirm the statement. If the client cannot ask
// the user, the call must have set confirm. It must run before the
// statement, because the tool runs again with the response.
func (d *database) approve(c *mcp.Call, in statement) error {
	prompt := fmt.Sprintf("Run this on the %s %s?\n\n%s", d.engine.Product(), d.engine.Location(), in.SQL)
	if len(in.Params) > 0 {
		raw, err := json.Marshal(in.Params)
		if err != nil {
			return err
		}
		prompt += "\n\nwith " + string(raw)
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: prompt})
	if err != nil {
		return err
	}
	if c.Caller.CanHandle(q) != nil {
		if in.Confirm {
			return nil
		}
		return errors.New(`nothing was run. This statement needs the user's confirmation: ask the user, and if they agree, call again with "confirm": true`)
	}
	answer, err := server.Elicit[approval](c, "run", prompt)
	if err != nil {
		return err
	}
	if !answer.Run {
		return errors.New("the user declined; nothing was run")
	}
	return nil
}

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

// readParams converts JSON to parameter values and keeps types: integers
// stay exact, a fraction with more digits than a float64 is a decimal,
// {"base64": "…"} is binary, and other objects and lists are JSON.
func readParams(sql string, raw []json.RawMessage) ([]any, error) {
	if strings.ContainsRune(sql, 0) {
		return nil, &engine.Refusal{Why: "the statement contains a NUL character"} // engines would end the statement there
	}
	params := make([]any, len(raw))
	for i, r := range raw {
		p, err := readParam(bytes.TrimSpace(r))
		if err != nil {
			return nil, fmt.Errorf("params[%d]: %w", i, err)
		}
		params[i] = p
	}
	return params, nil
}

func readParam(raw []byte) (any, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case string(raw) == "true":
		return true, nil
	case string(raw) == "false":
		return false, nil
	case raw[0] == '"':
		var s string
		err := mcp.Unmarshal(raw, &s)
		return s, err
	case raw[0] == '{':
		return objectParam(raw)
	case raw[0] == '[':
		return engine.JSON(raw), nil
	}
	return number(string(raw))
}

func objectParam(raw []byte) (any, error) {
	var o map[string]json.RawMessage
	if err := mcp.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	text, ok := o["base64"]
	if !ok || len(o) != 1 {
		return engine.JSON(raw), nil
	}
	var s string
	if err := mcp.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("invalid base64: %w", err)
	}
	return engine.Bytes{Head: b, Size: int64(len(b))}, nil
}

// digitsOfFloat is the number of decimal digits that a float64 always keeps.
const digitsOfFloat = 15

func number(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	whole := !strings.ContainsAny(s, ".eE")
	digits := len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(s), "0"))
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case whole, err == nil && digits > digitsOfFloat && !strings.ContainsAny(s, "eE"):
		return engine.Decimal(s), nil
	case err != nil:
		return nil, fmt.Errorf("%s is not a valid number", s)
	}
	return f, nil
}
