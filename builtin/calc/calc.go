// Package calc is the smallest server that shows everything: a tool, a
// resource template, a prompt, and a question to the person.
package calc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Config is what can be set; there is nothing yet.
type Config struct{}

// Numbers are what a calculation is made of.
type Numbers struct {
	A float64 `json:"a" doc:"the first number"`
	B float64 `json:"b" doc:"the second number"`
}

// Answer is what a calculation comes to.
type Answer struct {
	Result float64 `json:"result"`
}

// MCPText is what a model reads.
func (a Answer) MCPText() string { return fmt.Sprint(a.Result) }

// New returns the server.
func New(Config) (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "calc", Title: "Calculator", Version: "1.0.0"}, &server.Options{
		Instructions: "Use add, subtract, multiply and divide for arithmetic instead of doing it in your head.",
	})
	harmless := server.ToolOptions{Annotations: server.ReadOnly()}
	arithmetic := func(name, description string, f func(a, b float64) float64) {
		server.AddTool(s, name, description, func(_ context.Context, _ *mcp.Call, in Numbers) (Answer, error) {
			return answer(f(in.A, in.B))
		}, harmless)
	}
	arithmetic("add", "Add two numbers", func(a, b float64) float64 { return a + b })
	arithmetic("subtract", "Subtract b from a", func(a, b float64) float64 { return a - b })
	arithmetic("multiply", "Multiply two numbers", func(a, b float64) float64 { return a * b })
	server.AddTool(s, "divide", "Divide a by b", divide, harmless)
	server.AddTool(s, "average", "Ask the person for two numbers and average them", average, harmless)
	server.AddPrompt(s, "explain", "Explain a calculation step by step", func(_ context.Context, _ *mcp.Call, in struct {
		Calculation string `json:"calculation" doc:"such as 17 * 23"`
	}) (string, error) {
		return "Explain step by step how to work out " + in.Calculation + ", then check the answer with the tools.", nil
	})
	err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "welcome://{userId}", Name: "welcome", Description: "A greeting for one user", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "Welcome, "+vars["userId"]+"!"), nil
		})
	return s, err
}

func divide(_ context.Context, _ *mcp.Call, in Numbers) (Answer, error) {
	if in.B == 0 {
		return Answer{}, errors.New("division by zero: choose another b")
	}
	return answer(in.A / in.B)
}

// answer refuses what JSON has no number for.
func answer(result float64) (Answer, error) {
	if math.IsInf(result, 0) {
		return Answer{}, errors.New("the result is too large: choose smaller numbers")
	}
	return Answer{result}, nil
}

func average(_ context.Context, c *mcp.Call, _ struct{}) (Answer, error) {
	in, err := server.Elicit[Numbers](c, "numbers", "Which two numbers shall be averaged?")
	if err != nil {
		return Answer{}, err
	}
	return answer(in.A/2 + in.B/2)
}
