// Package demo is an example MCP server for what other servers have no use for:
// a tool that takes long, whose calls run as tasks, one that reports progress and
// logs, and one that asks the model of the client.
//
//	s, err := demo.New(demo.Config{})
package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Config configures the server.
type Config struct {
	// Store keeps the tasks; nil means in memory. The caller closes it after
	// the server.
	Store tasks.Store
}

// FromQuery returns the Config for the query of a URL such as builtin:demo. Any
// setting is an error.
func FromQuery(q url.Values) (Config, error) {
	if len(q) > 0 {
		return Config{}, fmt.Errorf("unknown setting %q; demo has none", strings.Join(slices.Sorted(maps.Keys(q)), ", "))
	}
	return Config{}, nil
}

// A Request is the arguments of slow_report.
type Request struct {
	Topic   string `json:"topic" doc:"what the report is about"`
	Seconds int    `json:"seconds,omitzero" doc:"how long the work takes" schema:"minimum=0,maximum=3600,default=10"`
}

// A Report is the result of slow_report.
type Report struct {
	Topic  string `json:"topic"`
	Format string `json:"format" doc:"short or long"`
	Text   string `json:"text"`
}

// MCPText returns the text that a model reads.
func (r Report) MCPText() string { return r.Text }

// New returns the server. Closing it ends the tasks that are running.
func New(o Config) (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "demo", Title: "Demo", Version: "1.0.0"}, nil)
	m, err := tasks.NewManager(s, &tasks.Options{Store: o.Store})
	if err != nil {
		return nil, err
	}
	server.AddTool(s, "slow_report", "Write a report, slowly: it reports progress and asks one question", slowReport,
		m.Tool(tasks.Optional, &server.ToolOptions{Annotations: server.ReadOnly()}))
	server.AddTool(s, "count", "Count to a number: reports progress and logs each step", count, &server.ToolOptions{Annotations: server.ReadOnly()})
	server.AddTool(s, "write_line", "Ask the model of the client for one line about a topic", writeLine, &server.ToolOptions{Annotations: server.ReadOnly()})
	return s, nil
}

// A Line is a result of one line of text.
type Line struct {
	Text string `json:"text"`
}

// MCPText returns the text that a model reads.
func (l Line) MCPText() string { return l.Text }

// count reports each number as progress and as a log message.
func count(ctx context.Context, c *mcp.Call, in struct {
	To int `json:"to" doc:"the last number" schema:"minimum=1,maximum=100"`
}) (Line, error) {
	log := server.Logger(c, "count")
	for i := range in.To {
		log.InfoContext(ctx, fmt.Sprintf("Counted %d of %d", i+1, in.To))
		server.Progress(c, float64(i+1), float64(in.To), "Counting")
	}
	return Line{fmt.Sprintf("Counted to %d.", in.To)}, nil
}

// writeLine returns what the model of the client writes about a topic. Without a
// model, or if the user rejects the request, it says so.
func writeLine(_ context.Context, c *mcp.Call, in struct {
	Topic string `json:"topic" doc:"what the line is about"`
}) (Line, error) {
	if can := c.Caller.Capabilities; can == nil || can.Sampling == nil {
		return Line{"The client lets no server use its model."}, nil
	}
	r, err := server.Sample(c, "line", &mcp.CreateMessageParams{
		MaxTokens: 60,
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("Write one line about " + in.Topic + "."))}},
	})
	if _, rejected := errors.AsType[*server.InputError](err); rejected {
		return Line{"The user does not want the model to be used."}, nil
	}
	if err != nil {
		return Line{}, err
	}
	for _, part := range r.Content.Blocks {
		if text, ok := part.(*mcp.TextContent); ok {
			return Line{text.Text}, nil
		}
	}
	return Line{"The model wrote no text."}, nil
}

// slowReport works for half of the time, asks for the format, and works for the
// rest. It runs again from the top after the question, so the first half is done
// once.
func slowReport(ctx context.Context, c *mcp.Call, in Request) (Report, error) {
	total := time.Duration(in.Seconds) * time.Second
	_, err := server.Once(c, "collected", func() (bool, error) {
		return true, work(ctx, c, "Collecting figures", 0, total/2)
	})
	if err != nil {
		return Report{}, err
	}
	format, err := askFormat(c)
	if err != nil {
		return Report{}, err
	}
	if err := work(ctx, c, "Writing the report", 50, total-total/2); err != nil {
		return Report{}, err
	}
	text := fmt.Sprintf("Report on %s: all is well.", in.Topic)
	if format == "long" {
		text += " The figures were collected and checked, and nothing unusual was found."
	}
	return Report{Topic: in.Topic, Format: format, Text: text}, nil
}

// askFormat asks the user for the format of the report. Without a user it is
// short.
func askFormat(c *mcp.Call) (string, error) {
	if can := c.Caller.Capabilities; can == nil || can.Elicitation == nil {
		return "short", nil
	}
	answer, err := server.Elicit[struct {
		Format string `json:"format" doc:"how much the report says" schema:"enum=short|long,default=short"`
	}](c, "format", "Which format shall the report have?")
	if _, declined := errors.AsType[*server.Declined](err); declined {
		return "short", nil
	}
	return answer.Format, err
}

// steps is the number of progress reports of one half of the work.
const steps = 5

// work waits and reports progress from a percentage on.
func work(ctx context.Context, c *mcp.Call, message string, from float64, d time.Duration) error {
	for i := range steps {
		server.Progress(c, from+float64(i)*50/steps+1, 100, message)
		select {
		case <-time.After(d / steps):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
