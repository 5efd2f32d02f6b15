package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
