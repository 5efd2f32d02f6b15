// Package expr compiles and runs the expressions of API files: jq, and texts with
// jq in double braces. Everything is compiled when a file is loaded, and each
// run is bounded in time, memory and output.
package expr

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// Bounds of one run.
const (
	maxTime    = 2 * time.Second
	maxResults = 10_000
	maxSize    = 32 << 20  // bytes of all results
	maxMemory  = 256 << 20 // bytes by which the heap may grow meanwhile
	watchAfter = 20 * time.Millisecond
)

// Vars are the variables of expressions. Values are those of [Decode].
type Vars struct {
	Args    any    // $args, the arguments of the call
	Lookup  any    // $lookup, the result of the lookup
	Prev    any    // $prev, the previous body
	Steps   []any  // $steps, all earlier bodies of the call
	Status  int    // $status of the response
	Headers any    // $headers of the response
	Key     string // $key, the idempotency key
	Item    any    // $item of a batch
	Value   string // $value, what the user typed so far
	Files   any    // $files, the names, sizes and types of the files of the call
}

var names = []string{"$args", "$lookup", "$prev", "$steps", "$status", "$headers", "$key", "$item", "$value", "$files"}

func (v *Vars) get(name string) any {
	switch name {
	case "$args":
		return v.Args
	case "$lookup":
		return v.Lookup
	case "$prev":
		return v.Prev
	case "$steps":
		return v.Steps
	case "$status":
		return v.Status
	case "$headers":
		return v.Headers
	case "$key":
		return v.Key
	case "$item":
		return v.Item
	case "$files":
		return v.Files
	}
	return v.Value
}

// A Query is compiled jq. It is safe for concurrent use.
type Query struct {
	source string
	from   string   // the variable that a plain path starts at; empty means the input
	path   []string // a plain path such as .a.b, which needs no interpreter
	plain  bool
	code   *gojq.Code
	vars   []string // those that it uses
	time   time.Duration
}

var (
	plainPath = regexp.MustCompile(`^(\$(?:args|lookup|prev|headers|files))?((?:\.[A-Za-z_][A-Za-z0-9_]*)*|\.)$`)
	path      = regexp.MustCompile(`^\(?\.[\w.\[\]"@?-]*( *// *\[\])?\)?$`)
	variable  = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)
)

// Compile compiles jq.
func Compile(source string) (*Query, error) {
	q := &Query{source: strings.TrimSpace(source), time: maxTime}
	if m := plainPath.FindStringSubmatch(q.source); m != nil && q.source != "" {
		q.plain, q.from = true, m[1]
		if m[2] != "." && m[2] != "" {
			q.path = strings.Split(m[2][1:], ".")
		}
		return q, nil
	}
	tree, err := gojq.Parse(q.source)
	if err != nil {
		return nil, fmt.Errorf("invalid jq: %w", explain(err))
	}
	for _, used := range variable.FindAllString(q.source, -1) {
		if slices.Contains(names, used) && !slices.Contains(q.vars, used) {
			q.vars = append(q.vars, used)
		}
	}
	guard(tree)
	addTextDefs(tree, q.source)
	options := slices.Concat(functions(), guards(), textFunctions(), []gojq.CompilerOption{gojq.WithVariables(q.vars)})
	if q.code, err = gojq.Compile(tree, options...); err != nil {
		return nil, fmt.Errorf("invalid jq: %w", explain(err))
	}
	return q, nil
}

// explain adds advice to an error of the compiler.
func explain(err error) error {
	if text := err.Error(); strings.HasPrefix(text, "variable not defined") {
		return fmt.Errorf("%w; there are %s; a member of the input is .name", err, strings.Join(names, ", "))
	} else if name, ok := strings.CutPrefix(text, "function not defined: "); ok && strings.HasSuffix(name, "/0") {
		return fmt.Errorf("%w; a member is written .%s, a text \"%[2]s\"", err, strings.TrimSuffix(name, "/0"))
	}
	if bad, ok := errors.AsType[*gojq.ParseError](err); ok && bad.Token != "" {
		return fmt.Errorf("unexpected %q at character %d", bad.Token, bad.Offset)
	}
	return err
}

// CountsItems reports whether a query selects an array of its input without leaving
// out items: a path, perhaps with a default.
func (q *Query) CountsItems() bool { return q.plain || path.MatchString(q.source) }

// All returns the results of a query.
func (q *Query) All(ctx context.Context, input any, v *Vars) ([]any, error) {
	if q.plain {
		one, err := q.walk(input, v)
		return []any{one}, err
	}
	ctx, stop := bounded(ctx, q.time)
	defer stop()
	var values []any
	if len(q.vars) > 0 {
		values = make([]any, len(q.vars))
		for i, name := range q.vars {
			values[i] = v.get(name)
		}
	}
	var all []any
	for it := q.code.RunWithContext(ctx, input, values...); ; {
		one, ok := it.Next()
		if !ok {
			break
		}
		if err, failed := one.(error); failed {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				break
			}
			return nil, q.failed(ctx, err)
		}
		if all = append(all, one); len(all) > maxResults {
			return nil, fmt.Errorf("jq %q: more than %d results", clip(q.source), maxResults)
		}
	}
	if size(all, maxSize) > maxSize {
		return nil, fmt.Errorf("jq %q: more than %d MiB of results", clip(q.source), maxSize>>20)
	}
	return all, nil
}

func (q *Query) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("jq %q: %w", clip(q.source), err)
}

// One returns the first result of a query, or nil.
func (q *Query) One(ctx context.Context, input any, v *Vars) (any, error) {
	if q.plain {
		return q.walk(input, v)
	}
	all, err := q.All(ctx, input, v)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// True reports whether the first result is neither false nor null.
func (q *Query) True(ctx context.Context, input any, v *Vars) (bool, error) {
	one, err := q.One(ctx, input, v)
	return one != nil && one != false, err
}

// Root returns the name of the member of the input that a plain path starts
// with, or "".
func (q *Query) Root() string {
	if q.plain && q.from == "" && len(q.path) > 0 {
		return q.path[0]
	}
	return ""
}

// walk follows a plain path.
func (q *Query) walk(input any, v *Vars) (any, error) {
	if q.from != "" {
		input = v.get(q.from)
	}
	for _, name := range q.path {
		switch in := input.(type) {
		case map[string]any:
			input = in[name]
		case nil:
			return nil, nil
		default:
			return nil, fmt.Errorf("jq %q: %w", clip(q.source), fmt.Errorf("expected an object but got %s", gojq.TypeOf(input)))
		}
	}
	return input, nil
}

var errMemory = fmt.Errorf("needed more than %d MiB of memory", maxMemory>>20)

// bounded returns a context that ends when a run has taken too long or too much
// memory. Memory is only measured in runs that take a while.
func bounded(parent context.Context, most time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	began, base := time.Now(), uint64(0)
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(watchAfter, func() {
		<-ready
		used := heap()
		switch {
		case base == 0:
			base = used
		case used > base+maxMemory:
			cancel(errMemory)
			return
		}
		if time.Since(began) > most {
			cancel(fmt.Errorf("took longer than %s", most))
			return
		}
		if ctx.Err() == nil {
			timer.Reset(watchAfter)
		}
	})
	close(ready)
	return ctx, func() { timer.Stop(); cancel(nil) }
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// size returns about how many bytes the JSON of a value takes, or more than limit.
func size(v any, limit int) int {
	n := 0
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case []any:
		for _, item := range v {
			if n += 1 + size(item, limit-n); n > limit {
				return n
			}
		}
	case map[string]any:
		for name, item := range v {
			if n += len(name) + 4 + size(item, limit-n); n > limit {
				return n
			}
		}
	default:
		return 8
	}
	return n + 2
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
