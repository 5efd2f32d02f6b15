// Package calc is a small example MCP server with tools, a resource template, a
// prompt and an elicitation. Its arithmetic is exact.
//
//	s, err := calc.New(calc.Config{})
package calc

import (
	"context"
	"encoding/json"
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

// Config configures the server. It has no settings yet.
type Config struct{}

// FromQuery returns the Config for the query of a URL such as builtin:calc. Any
// setting is an error.
func FromQuery(q url.Values) (Config, error) {
	var unknown []string
	for key := range q {
		unknown = append(unknown, strconv.Quote(key))
	}
	if len(unknown) == 0 {
		return Config{}, nil
	}
	slices.Sort(unknown)
	return Config{}, fmt.Errorf("unknown setting %s; calc has none", strings.Join(unknown, ", "))
}

// Numbers are the operands of a calculation.
type Numbers struct {
	A float64 `json:"a" doc:"the first number"`
	B float64 `json:"b" doc:"the second number"`
}

// Result is the result of a calculation.
type Result struct {
	Result float64 `json:"result"`
	// Exact is the exact result if a float64 cannot represent it.
	Exact string `json:"exact,omitempty" doc:"the exact result, if the number is only an approximation"`
}

// MCPText returns the text that a model reads.
func (a Result) MCPText() string {
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
		Instructions: "Use add, subtract, multiply and divide for all arithmetic.",
	})
	harmless := &server.ToolOptions{Annotations: server.ReadOnly()}
	harmless.Annotations.OpenWorldHint = new(false)
	arithmetic := func(name, description string, f func(z, a, b *big.Rat) *big.Rat) {
		server.AddTool(s, name, description, func(_ context.Context, c *mcp.Call, _ Numbers) (Result, error) {
			a, b, err := exactArguments(c)
			if err != nil {
				return Result{}, err
			}
			if name == "divide" && b.Sign() == 0 {
				return Result{}, errors.New("division by zero: choose another b")
			}
			return newResult(f(new(big.Rat), a, b))
		}, harmless)
	}
	arithmetic("add", "Add two numbers", (*big.Rat).Add)
	arithmetic("subtract", "Subtract b from a", (*big.Rat).Sub)
	arithmetic("multiply", "Multiply two numbers", (*big.Rat).Mul)
	arithmetic("divide", "Divide a by b", (*big.Rat).Quo)
	server.AddTool(s, "average", "Ask the user for two numbers and return their average", average, harmless)
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

func average(_ context.Context, c *mcp.Call, _ struct{}) (Result, error) {
	in, err := server.Elicit[Numbers](c, "numbers", "Which two numbers shall be averaged?")
	if err != nil {
		return Result{}, err
	}
	// The numbers of a form are float64 values: use their shortest decimal form.
	sum := new(big.Rat)
	for _, f := range []float64{in.A, in.B} {
		r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		if !ok {
			return Result{}, fmt.Errorf("%v is not a number", f)
		}
		sum.Add(sum, r)
	}
	return newResult(sum.Quo(sum, big.NewRat(2, 1)))
}

// maxDigits is the maximum length of a number, since exact arithmetic on long
// numbers takes time.
const maxDigits = 1000

// exactArguments returns the numbers of a call as written: 0.1 is a tenth, and
// 9007199254740993 is not rounded.
func exactArguments(c *mcp.Call) (a, b *big.Rat, err error) {
	var p struct {
		Arguments struct {
			A json.RawMessage `json:"a"`
			B json.RawMessage `json:"b"`
		} `json:"arguments"`
	}
	// The arguments were validated already; ignore other members of the call.
	var members map[string]json.RawMessage
	if err := mcp.Unmarshal(c.Params, &members); err != nil {
		return nil, nil, err
	}
	if err := mcp.Unmarshal(members["arguments"], &p.Arguments); err != nil {
		return nil, nil, err
	}
	if a, err = parse(string(p.Arguments.A)); err != nil {
		return nil, nil, fmt.Errorf("a: %w", err)
	}
	if b, err = parse(string(p.Arguments.B)); err != nil {
		return nil, nil, fmt.Errorf("b: %w", err)
	}
	return a, b, nil
}

// parse parses a JSON number. It checks the exponent first: as a fraction,
// 1e-999999999 would use up the memory.
func parse(s string) (*big.Rat, error) {
	if len(s) > maxDigits {
		return nil, fmt.Errorf("the number has more than %d digits", maxDigits)
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		if e, err := strconv.Atoi(s[at+1:]); err != nil || e > 400 || e < -400 {
			return nil, errors.New("the exponent must be between -400 and 400")
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return r, nil
}

// newResult returns a number as the nearest float64, and exactly if the float64
// differs from it.
func newResult(r *big.Rat) (Result, error) {
	f, _ := r.Float64()
	short := strconv.FormatFloat(f, 'g', -1, 64)
	seen, ok := new(big.Rat).SetString(short)
	if !ok { // an infinity, which JSON cannot represent
		return Result{}, errors.New("the result is too large; use smaller numbers")
	}
	if seen.Cmp(r) == 0 {
		return Result{Result: f}, nil
	}
	return Result{Result: f, Exact: exactText(r)}, nil
}

// exactText returns a finite decimal, or else a fraction.
func exactText(r *big.Rat) string {
	if digits, finite := r.FloatPrec(); finite {
		return r.FloatString(digits)
	}
	return r.RatString()
}
