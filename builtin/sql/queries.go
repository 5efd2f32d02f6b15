package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A query file is SQL with comments that describe each query:
//
//	-- name: orders_of
//	-- description: The orders of a person, the largest first
//	-- param: person integer  The id of the person
//	-- param: limit integer default=10 min=1 max=100  How many
//	SELECT id, total FROM orders WHERE person_id = :person ORDER BY total DESC LIMIT :limit;
//
// readQueries parses it. Its errors have line and column.

const (
	maxQueryFile = 1 << 20
	maxQueries   = 200
	confirmParam = "confirm"
)

// A namedQuery is one query of the file, which becomes a tool.
type namedQuery struct {
	name, title, description string
	writes                   bool
	params                   []queryParam
	line                     int      // its first line, for errors
	sql                      []string // the statement, split at the parameters
	order                    []int    // the parameter at each split
}

// A queryParam is an argument of the tool.
type queryParam struct {
	name     string
	schema   map[string]any
	optional bool // NULL if absent
	fallback json.RawMessage
}

// A fileError is an error in a query file.
type fileError struct {
	file         string
	line, column int
	why          string
}

func (e *fileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.file, e.line, e.column, e.why)
}

// A queryReader reads a file line by line.
type queryReader struct {
	file    string
	text    string
	queries []*namedQuery
	current *namedQuery
	body    strings.Builder // statement of the current query
	bodyAt  int             // its first line
	errs    []error
}

// readQueries parses a file. It reports all errors at once.
func readQueries(file string) ([]*namedQuery, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read queries: %w", err)
	}
	if info.Size() > maxQueryFile {
		return nil, fmt.Errorf("%s: the file is larger than %d KiB", file, maxQueryFile>>10)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read queries: %w", err)
	}
	return parseQueries(file, string(raw))
}

func parseQueries(file, text string) ([]*namedQuery, error) {
	r := &queryReader{file: file, text: text}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, &fileError{file, 1, 1, "the file is not valid UTF-8"}
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		r.line(number, strings.TrimRight(line, "\r\n"))
	}
	r.finish()
	if len(r.queries) == 0 && len(r.errs) == 0 {
		r.fail(1, 1, "no query found; a query begins with a line such as -- name: orders_of")
	}
	return r.queries, errors.Join(r.errs...)
}

func (r *queryReader) fail(line, column int, format string, args ...any) {
	r.errs = append(r.errs, &fileError{r.file, line, column, fmt.Sprintf(format, args...)})
}

// settingLine matches the comments that are settings.
var settingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*--\s*(name|title|description|param|writes)\s*:\s*(.*?)\s*$`)
})

func (r *queryReader) line(number int, line string) {
	m := settingLine().FindStringSubmatchIndex(line)
	inBody := strings.TrimSpace(r.body.String()) != ""
	switch {
	case m != nil && line[m[2]:m[3]] == "name":
		r.finish()
		r.begin(number, m[4]+1, line[m[4]:m[5]])
	case m != nil && inBody:
		r.fail(number, m[2]+1, "%s must come before the statement", line[m[2]:m[3]])
	case m != nil && r.current == nil:
		r.fail(number, m[2]+1, "%s is outside a query; begin a query with -- name:", line[m[2]:m[3]])
	case m != nil:
		r.setting(number, m[4]+1, line[m[2]:m[3]], line[m[4]:m[5]])
	case r.current == nil:
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "--") {
			r.fail(number, 1+strings.Index(line, trimmed), "text outside a query; begin a query with -- name:")
		}
	case inBody || strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "--"):
		if !inBody {
			r.bodyAt = number
			r.body.Reset()
		}
		r.body.WriteString(line + "\n")
	}
}

var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`) })

func (r *queryReader) begin(line, column int, name string) {
	r.current = &namedQuery{name: name, line: line}
	switch {
	case !goodName().MatchString(name):
		r.fail(line, column, "%q is not a valid tool name; use at most 64 letters, digits, - and _, a letter first", textclip.Clip(name, 80))
	case slices.ContainsFunc(r.queries, func(q *namedQuery) bool { return q.name == name }):
		r.fail(line, column, "duplicate query %q", name)
	case len(r.queries) >= maxQueries:
		r.fail(line, column, "more than %d queries", maxQueries)
	}
}

func (r *queryReader) setting(line, column int, key, value string) {
	q := r.current
	switch key {
	case "title":
		q.title = value
	case "description":
		q.description = strings.TrimSpace(q.description + " " + value)
	case "writes":
		on, err := strconv.ParseBool(value)
		if err != nil {
			r.fail(line, column, "writes must be true or false, got %q", value)
		}
		q.writes = on
	case "param":
		r.param(line, column, value)
	}
}

// finish ends the current query.
func (r *queryReader) finish() {
	q := r.current
	if q == nil {
		return
	}
	body := strings.TrimRight(r.body.String(), " \t\n")
	r.body.Reset()
	r.current = nil
	switch {
	case body == "":
		r.fail(q.line, 1, "query %q has no statement", q.name)
		return
	case q.description == "":
		r.fail(q.line, 1, "query %q has no description; a model needs one to know when to call it", q.name)
	}
	r.cut(q, body)
	r.queries = append(r.queries, q)
}

// param parses a line such as: limit integer default=10 min=1 max=100  How
// many.
func (r *queryReader) param(line, column int, value string) {
	name, rest, _ := strings.Cut(value, " ")
	kind, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	p := queryParam{name: name, schema: map[string]any{"type": kind}}
	switch {
	case !goodName().MatchString(name) || strings.Contains(name, "-"):
		r.fail(line, column, "%q is not a valid parameter name; use letters, digits and _, a letter first", textclip.Clip(name, 80))
		return
	case slices.ContainsFunc(r.current.params, func(p queryParam) bool { return p.name == name }):
		r.fail(line, column, "duplicate parameter %q", name)
		return
	case name == confirmParam:
		r.fail(line, column, "%s is reserved in queries that write; choose another name", confirmParam)
		return
	case !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind):
		r.fail(line, column+len(name)+1, "the type of %s must be string, integer, number or boolean, got %q", name, kind)
		return
	}
	for rest = strings.TrimLeft(rest, " "); ; {
		word, after, _ := strings.Cut(rest, " ")
		known, err := p.option(kind, word)
		if err != nil {
			r.fail(line, column+strings.Index(value, word), "%v", err)
		}
		if !known {
			break
		}
		rest = strings.TrimLeft(after, " ")
	}
	if rest != "" {
		p.schema["description"] = rest
	}
	r.current.params = append(r.current.params, p)
}

// option parses one word after the type and reports whether it is an option.
func (p *queryParam) option(kind, word string) (known bool, err error) {
	if word == "optional" {
		p.optional = true
		return true, nil
	}
	key, value, ok := strings.Cut(word, "=")
	if !ok || !slices.Contains([]string{"default", "min", "max", "enum"}, key) {
		return false, nil
	}
	if key == "enum" {
		var all []json.RawMessage
		for choice := range strings.SplitSeq(value, "|") {
			raw, err := literal(kind, choice)
			if err != nil {
				return true, err
			}
			all = append(all, raw)
		}
		p.schema["enum"] = all
		return true, nil
	}
	if (key == "min" || key == "max") && kind == "string" {
		kind = "integer"
		key += "Length"
	} else if key == "min" || key == "max" {
		key += "imum"
	}
	raw, err := literal(kind, value)
	if err != nil {
		return true, err
	}
	if p.schema[key] = raw; key == "default" {
		p.fallback = raw
	}
	return true, nil
}

// literal returns a value of the file as JSON.
func literal(kind, value string) (json.RawMessage, error) {
	if kind == "string" {
		raw, err := mcp.Marshal(value)
		return raw, err
	}
	bad := fmt.Errorf("%q is not a valid %s", value, kind)
	switch kind {
	case "boolean":
		if value != "true" && value != "false" {
			return nil, bad
		}
	case "integer":
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return nil, bad
		}
	default:
		if f, err := strconv.ParseFloat(value, 64); err != nil || f-f != 0 {
			return nil, bad
		}
	}
	return json.RawMessage(value), nil
}

// inputSchema returns the schema of the arguments.
func (q *namedQuery) inputSchema() (json.RawMessage, error) {
	properties, required := map[string]any{}, []string{}
	for _, p := range q.params {
		properties[p.name] = p.schema
		if !p.optional && p.fallback == nil {
			required = append(required, p.name)
		}
	}
	if q.writes {
		properties[confirmParam] = map[string]any{"type": "boolean", "description": "the user agreed; set it only after a result asked for it"}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return mcp.Marshal(s)
}
