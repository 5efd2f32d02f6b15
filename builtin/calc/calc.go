// Package calc is the smallest server that shows everything: tools, a resource
// template, a prompt, and a question to the person. Its arithmetic is exact.
package calc

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Config is what can be set; there is nothing yet.
type Config struct{}

// FromQuery makes a Config of what stands behind the question mark of
// builtin:calc?…, which has to be nothing.
func FromQuery(q url.Values) (Config, error) {
	var unknown []string
	for key := range q {
		unknown = append(unknown, strconv.Quote(key))
	}
	if len(unknown) == 0 {
		return Config{}, nil
	}
	slices.Sort(unknown)
	return Config{}, fmt.Errorf("%s: calc has no settings", strings.Join(unknown, ", "))
}

// Numbers are what a calculation is made of.
type Numbers struct {
	A float64 `json:"a" doc:"the first number"`
	B float64 `json:"b" doc:"the second number"`
}

// Answer is what a calculation comes to.
type Answer struct {
	Result float64 `json:"result"`
	// Exact is there when the result cannot be said as a float64.
	Exact string `json:"exact,omitempty" doc:"the exact result, where the number is only near it"`
}

// MCPText is what a model reads.
func (a Answer) MCPText() string {
	switch {
	case a.Exact == "":
		return fmt.Sprint(a.Result)
	case strings.Contains(a.Exact, "/"):
		return fmt.Sprintf("%v (exactly %s)", a.Result, a.Exact)
	}
	return a.Exact
}

// New returns the server.
func New(Config) (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "calc", Title: "Calculator", Version: "1.0.0"}, &server.Options{
		Instructions: "Use add, subtract, multiply and divide for arithmetic instead of doing it in your head.",
	})
	harmless := &server.ToolOptions{Annotations: server.ReadOnly()}
	arithmetic := func(name, description string, f func(z, a, b *big.Rat) *big.Rat) {
		server.AddTool(s, name, description, func(_ context.Context, c *mcp.Call, _ Numbers) (Answer, error) {
			a, b, err := exactly(c)
			if err != nil {
				return Answer{}, err
			}
			if name == "divide" && b.Sign() == 0 {
				return Answer{}, errors.New("division by zero: choose another b")
			}
			return answerOf(f(new(big.Rat), a, b))
		}, harmless)
	}
	arithmetic("add", "Add two numbers", (*big.Rat).Add)
	arithmetic("subtract", "Subtract b from a", (*big.Rat).Sub)
	arithmetic("multiply", "Multiply two numbers", (*big.Rat).Mul)
	arithmetic("divide", "Divide a by b", (*big.Rat).Quo)
	server.AddTool(s, "average", "Ask the person for two numbers and average them", average, harmless)
	server.AddPrompt(s, "explain", "Explain a calculation step by step", func(_ context.Context, _ *mcp.Call, in struct {
		Calculation string `json:"calculation" doc:"such as 17 * 23"`
	}) (string, error) {
		return "Explain step by step how to work out " + in.Calculation + ", then check the answer with the tools.", nil
	}, nil)
	err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "welcome://{userId}", Name: "welcome", Description: "A greeting for one user", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "Welcome, "+vars["userId"]+"!"), nil
		}, nil)
	return s, err
}

func average(_ context.Context, c *mcp.Call, _ struct{}) (Answer, error) {
	in, err := server.Elicit[Numbers](c, "numbers", "Which two numbers shall be averaged?")
	if err != nil {
		return Answer{}, err
	}
	// The numbers of a form arrive as float64: what they look like counts.
	sum := new(big.Rat)
	for _, f := range []float64{in.A, in.B} {
		r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		if !ok {
			return Answer{}, fmt.Errorf("%v is not a number", f)
		}
		sum.Add(sum, r)
	}
	return answerOf(sum.Quo(sum, big.NewRat(2, 1)))
}
