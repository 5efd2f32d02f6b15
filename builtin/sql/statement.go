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
	SQL     string            `json:"sql" doc:"one statement, such as INSERT, UPDATE, DELETE or CREATE TABLE. It is a transaction of its own" schema:"minLength=1,maxLength=1000000"`
	Params  []json.RawMessage `json:"params,omitzero" doc:"values for the placeholders, in order; types are kept, {\"base64\": \"…\"} is binary" schema:"maxItems=1000"`
	Confirm bool              `json:"confirm,omitzero" doc:"says that the person wants this, for clients that cannot ask them; only needed where the answer says so"`
	Timeout int               `json:"timeoutSeconds,omitzero" doc:"cancel it in the database after this time; the server has a limit of its own" schema:"minimum=1"`
}

// Changed is what a statement did.
type Changed struct {
	Changed int64 `json:"changedRows" doc:"how many rows were changed"`
	LastID  int64 `json:"lastId,omitzero" doc:"the key that the engine made for the last new row"`
	// Returned are the rows of a RETURNING.
	Returned *Rows `json:"returned,omitzero" doc:"what the statement returned"`
}

// MCPText says it in a sentence.
func (c Changed) MCPText() string {
	text := fmt.Sprintf("Done: %d rows changed.", c.Changed)
	if c.LastID != 0 {
		text += fmt.Sprintf(" The key of the last new row is %d.", c.LastID)
	}
	if c.Returned != nil {
		text += "\n" + c.Returned.MCPText()
	}
	return text
}

// approval is the form that a person fills in.
type approval struct {
	Run bool `json:"run" doc:"tick to run it; everything stays as it is otherwise" schema:"title=Run it"`
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
			err = fmt.Errorf("%w. Look with run_query whether it was done before you run it again", err)
		}
		return err
	})
	if err != nil {
		return Changed{}, err
	}
	d.listInBackground() // it may have made or dropped a table
	out := Changed{Changed: changed.Rows, LastID: changed.LastID}
	if len(p.columns) > 0 {
		rows := p.result()
		out.Returned = &rows
	}
	return out, nil
}

// approve asks the person, before anything is done, since the tool runs again
// with the answer. Where the client cannot ask, whoever calls must have said
// that the person wants it.
func (d *database) approve(c *mcp.Call, in statement) error {
	question := fmt.Sprintf("Run this on the %s %s?\n\n%s", d.engine.Product(), d.engine.Place(), in.SQL)
	if len(in.Params) > 0 {
		raw, err := json.Marshal(in.Params)
		if err != nil {
			return err
		}
		question += "\n\nwith " + string(raw)
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: question})
	if err != nil {
		return err
	}
	if c.Caller.CanHandle(q) != nil {
		if in.Confirm {
			return nil
		}
		return errors.New(`nothing was run. This client cannot ask the person: ask them yourself whether they want this statement, and if they do, call again with "confirm": true`)
	}
	answer, err := server.Elicit[approval](c, "run", question)
	if err != nil {
		return err
	}
	if !answer.Run {
		return errors.New("the person did not agree, and nothing was run")
	}
	return nil
}
