package sql

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

const (
	markdown      = "text/markdown"
	overviewURI   = "db://schema"
	tableTemplate = "db://schema/{table}"
)

func tableURI(id string) string {
	return overviewURI + "/" + strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
}

func (d *database) addResources() error {
	err := d.server.AddResource(mcp.Resource{URI: overviewURI, Name: "schema", Title: "All tables", Description: "The tables and views of the database", MIMEType: markdown},
		func(ctx context.Context, _ *mcp.Call, _ string, _ map[string]string) ([]mcp.ResourceContents, error) {
			var text string
			err := d.limited(ctx, nil, 0, func(ctx context.Context) error {
				tables, err := d.tables(ctx)
				text = d.overview(tables)
				return err
			})
			return d.contents(text, err)
		}, nil)
	if err != nil {
		return err
	}
	err = d.server.AddTemplate(mcp.ResourceTemplate{URITemplate: tableTemplate, Name: "table", Title: "One table",
		Description: "Columns, keys, indexes and comments of a table or view", MIMEType: markdown}, d.readTable, nil)
	if err != nil {
		return err
	}
	return d.server.CompleteTemplate(tableTemplate, "table", d.completeTable)
}

// readTable reads a table for the template and for listed resources.
func (d *database) readTable(ctx context.Context, _ *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
	id := vars["table"]
	if vars == nil {
		name, err := url.PathUnescape(strings.TrimPrefix(uri, overviewURI+"/"))
		if err != nil {
			return nil, mcp.ResourceNotFound(uri)
		}
		id = name
	}
	var text string
	err := d.limited(ctx, nil, 0, func(ctx context.Context) error {
		t, ok, err := d.table(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			return mcp.ResourceNotFound(uri)
		}
		text = describe(shortened(t, 8*d.MaxBytes))
		return nil
	})
	return d.contents(text, err)
}

// contents returns a text as a resource. Errors are passed on: they are
// about the database and contain no secrets.
func (d *database) contents(text string, err error) ([]mcp.ResourceContents, error) {
	if err != nil {
		if _, ok := err.(*mcp.Error); ok {
			return nil, err
		}
		return nil, mcp.Errorf(mcp.CodeInternal, "%s", err.Error())
	}
	return server.TextResource(markdown, text), nil
}

// completeTable returns the tables whose name begins with value, then those
// that contain it.
func (d *database) completeTable(ctx context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
	return matching(d.known(ctx), value), nil
}

func matching(tables []engine.Table, value string) []string {
	value = strings.ToLower(value)
	var first, then []string
	for _, t := range tables {
		switch at := strings.Index(strings.ToLower(t.ID), value); {
		case at == 0:
			first = append(first, t.ID)
		case at > 0:
			then = append(then, t.ID)
		}
	}
	return append(first, then...)
}

func (d *database) addPrompts() {
	server.AddPrompt(d.server, "explore_schema", "Explore the database: its tables and how they are connected", func(ctx context.Context, _ *mcp.Call, in struct {
		Focus string `json:"focus,omitzero" doc:"a topic, such as sales or users"`
	}) (string, error) {
		ask := "Tell me what this database is about: its main tables, how they are connected, and three questions that it could answer."
		if in.Focus != "" {
			ask = "Tell me what this database contains about " + in.Focus + ": the tables that matter, how they are connected, and three questions that it could answer."
		}
		return ask + " Use describe_table, with a sample, on important tables; do not guess what a column means.\n\n" + d.overview(d.known(ctx)), nil
	}, &server.PromptOptions{Title: "Explore the schema"})

	server.AddPrompt(d.server, "answer_question", "Answer a question with a query", func(ctx context.Context, _ *mcp.Call, in struct {
		Question string `json:"question" doc:"what you want to know"`
	}) (string, error) {
		return fmt.Sprintf("Answer this with run_query: %s\n\nFirst look at the tables you need with describe_table. Put values into params. Check the result for plausibility (row counts, NULLs, joins that multiply rows), then answer and show the query.\n\n%s", in.Question, d.overview(d.known(ctx))), nil
	}, &server.PromptOptions{Title: "Answer a question"})

	server.AddPrompt(d.server, "review_query", "Find out why a query is slow or wrong", func(_ context.Context, _ *mcp.Call, in struct {
		SQL string `json:"sql" doc:"the query"`
	}) (string, error) {
		return "Review this query. Look at its plan with run_query and explain, and at the indexes of its tables with describe_table. Say what it costs, whether it returns what it seems to, and how to write it better.\n\n" + in.SQL, nil
	}, &server.PromptOptions{Title: "Review a query"})

	server.AddPrompt(d.server, "describe_table", "Explain one table in plain words", func(_ context.Context, _ *mcp.Call, in struct {
		Table string `json:"table" doc:"its name"`
	}) (string, error) {
		return fmt.Sprintf("Explain the table %q in plain words: what one row is, what the columns mean, and to what else it is connected. Use describe_table with a sample of 5.", in.Table), nil
	}, &server.PromptOptions{Title: "Explain a table"})
	if err := d.server.CompletePrompt("describe_table", "table", d.completeTable); err != nil {
		d.Log.Error("adding prompt completion failed", "error", err)
	}
}
