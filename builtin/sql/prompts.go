package sql

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

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
