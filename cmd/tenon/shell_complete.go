package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// methods lists the candidates for the method of raw.
var methods = []string{mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList,
	mcp.MethodResourcesRead, mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete}

// complete handles Tab: it extends the word at the cursor by the common prefix of
// all candidates, or prints the candidates.
func (sh *shell) complete(e *editor, line string, pos int) (string, int) {
	ctx, stop := context.WithTimeout(context.Background(), idleTimeout)
	defer stop()
	done, word, start := args.Unfinished(line[:pos])
	all := matching(sh.completer.candidates(ctx, done, word), word)
	if len(all) == 0 {
		return line, pos
	}
	common := commonStart(all)
	if len(all) > 1 && common == word {
		fmt.Fprint(e.term, columnsOf(all, width(sh.p.err)))
		return line, pos
	}
	text := args.Quote(common)
	if len(all) == 1 && !strings.HasSuffix(common, "=") && !strings.HasSuffix(common, "/") && !strings.HasSuffix(common, "{") {
		text += " "
	} else if strings.HasPrefix(text, "'") {
		text = strings.TrimSuffix(text, "'") // it goes on within the quote
	}
	return line[:start] + text + line[pos:], start + len(text)
}

// matching returns the candidates that begin with word and are printable.
func matching(all []string, word string) []string {
	var out []string
	for _, c := range all {
		if strings.HasPrefix(c, word) && visible.Line(c) == c {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func commonStart(all []string) string {
	common := all[0]
	for _, c := range all[1:] {
		n := 0
		for n < len(common) && n < len(c) && common[n] == c[n] {
			n++
		}
		common = common[:n]
	}
	return strings.ToValidUTF8(common, "")
}

// columnsOf lays words out in columns.
func columnsOf(all []string, width int) string {
	const most = 100
	more := ""
	if len(all) > most {
		more = fmt.Sprintf("… and %d more\n", len(all)-most)
		all = all[:most]
	}
	longest := 0
	for _, c := range all {
		longest = max(longest, len([]rune(c)))
	}
	across := max(1, width/(longest+2))
	down := (len(all) + across - 1) / across
	var out strings.Builder
	for row := range down {
		for at := row; at < len(all); at += down {
			out.WriteString(all[at])
			if at+down < len(all) {
				out.WriteString(strings.Repeat(" ", longest+2-len([]rune(all[at]))))
			}
		}
		out.WriteByte('\n')
	}
	return out.String() + more
}

// A completer returns candidates for the commands of one server. It is not safe
// for concurrent use.
type completer struct {
	session *session
	known   catalog
}

// candidates are the words that can follow those in done, whose first is the
// command and which leave out the server. Some do not begin with word; the
// caller filters them. A server's name that would be read as a flag is left out.
func (c *completer) candidates(ctx context.Context, done []string, word string) []string {
	return slices.DeleteFunc(c.unfiltered(ctx, done, word), func(w string) bool { return strings.HasPrefix(w, "-") })
}

func (c *completer) unfiltered(ctx context.Context, done []string, word string) []string {
	if len(done) == 0 {
		return append(slices.Clone(inShell), shellOnly...)
	}
	switch command, at := done[0], len(done); {
	case command == "help" && at == 1:
		return slices.Clone(inShell)
	case (command == "listen" || command == "trace") && at == 1:
		return []string{"on", "off"}
	case command == "raw" && at == 1:
		return slices.Clone(methods)
	case command == "tools", command == "call" && at == 1:
		return names(c.tools(ctx), func(t *mcp.Tool) string { return t.Name })
	case command == "call":
		return toolArgument(c.tools(ctx), done[1], done[2:], word)
	case command == "read" && at == 1, command == "listen":
		return append(c.uris(ctx), c.expand(ctx, word)...)
	case command == "prompt" && at == 1:
		return c.promptNames(ctx)
	case command == "prompt":
		return c.promptArgument(ctx, done[1], done[2:], word)
	case command == "complete" && at == 1:
		return append(c.promptNames(ctx), names(c.templates(ctx), func(t *mcp.ResourceTemplate) string { return t.URITemplate })...)
	}
	return nil
}

func names[T any](all []*T, nameOf func(*T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = nameOf(one)
	}
	return out
}

func (c *completer) promptNames(ctx context.Context) []string {
	return names(c.prompts(ctx), func(p *mcp.Prompt) string { return p.Name })
}

// uris returns the URIs of resources, and the fixed prefixes of templates.
func (c *completer) uris(ctx context.Context) []string {
	all := names(c.resources(ctx), func(r *mcp.Resource) string { return r.URI })
	for _, t := range c.templates(ctx) {
		if fixed, _, ok := strings.Cut(t.URITemplate, "{"); ok && fixed != "" {
			all = append(all, fixed)
		}
	}
	return all
}

// toolArgument completes an argument of a tool: its name, or its value where the
// schema lists some, or a file after @.
func toolArgument(tools []*mcp.Tool, tool string, done []string, word string) []string {
	i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	var s struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
	}
	if mcp.Unmarshal(tools[i].InputSchema, &s) != nil {
		return nil
	}
	name, value, ok := strings.Cut(word, "=")
	var all []string
	if !ok {
		for n := range s.Properties {
			if !given(done, n) && !strings.Contains(n, "=") { // which would end the name
				all = append(all, n+"=")
			}
		}
		return all
	}
	if beginning, isFile := strings.CutPrefix(value, "@"); isFile && !strings.HasPrefix(beginning, "@") {
		found, _ := filepath.Glob(beginning + "*") // a pattern that is none finds nothing
		for _, f := range found {
			all = append(all, name+"=@"+f)
		}
		return all
	}
	p := s.Properties[name]
	for _, v := range p.Enum {
		all = append(all, name+"="+args.Escape(fmt.Sprint(v)))
	}
	if p.Type == "boolean" {
		all = append(all, name+"=true", name+"=false")
	}
	return all
}

func given(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, name+"=") })
}

// promptArgument completes an argument of a prompt: its name, or its value as
// the server sees it.
func (c *completer) promptArgument(ctx context.Context, prompt string, done []string, word string) []string {
	prompts := c.prompts(ctx)
	i := slices.IndexFunc(prompts, func(p *mcp.Prompt) bool { return p.Name == prompt })
	if i < 0 {
		return nil
	}
	name, value, ok := strings.Cut(word, "=")
	var all []string
	if !ok {
		for _, a := range prompts[i].Arguments {
			if !given(done, a.Name) {
				all = append(all, a.Name+"=")
			}
		}
		return all
	}
	q := mcp.CompleteParams{Ref: mcp.PromptRef(prompt), Argument: mcp.CompletionArgument{Name: name, Value: value}}
	if have, err := texts(done); err == nil && len(have) > 0 {
		q.Context = &mcp.CompletionContext{Arguments: have}
	}
	return c.next(ctx, q, name+"=")
}

// next asks the server for values, each returned after before.
func (c *completer) next(ctx context.Context, q mcp.CompleteParams, before string) []string {
	r, err := c.session.Complete(ctx, q)
	if err != nil {
		return nil
	}
	var all []string
	for _, v := range r.Values {
		all = append(all, before+v)
	}
	return all
}

// expand completes the variable of a template at the end of a partial URI.
func (c *completer) expand(ctx context.Context, word string) []string {
	var all []string
	for _, t := range c.templates(ctx) {
		before, name, value, have, ok := within(t.URITemplate, word)
		if !ok {
			continue
		}
		q := mcp.CompleteParams{Ref: mcp.ResourceRef(t.URITemplate), Argument: mcp.CompletionArgument{Name: name, Value: value}}
		if len(have) > 0 {
			q.Context = &mcp.CompletionContext{Arguments: have}
		}
		all = append(all, c.next(ctx, q, before)...)
	}
	return all
}

// within finds the variable of a template that the beginning of a URI ends in:
// what stands before it, its name, its beginning, and the variables before it.
func within(template, uri string) (before, name, value string, have map[string]string, ok bool) {
	have = map[string]string{}
	rest := uri
	for {
		fixed, after, more := strings.Cut(template, "{")
		if !more || !strings.HasPrefix(rest, fixed) {
			return "", "", "", nil, false
		}
		rest = rest[len(fixed):]
		variable, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "", "", "", nil, false
		}
		variable = strings.TrimRight(strings.TrimLeft(variable, "+#./;?&"), "*")
		next, _, _ := strings.Cut(tail, "{")
		end := -1
		if next != "" {
			end = strings.Index(rest, next)
		}
		if end < 0 {
			return uri[:len(uri)-len(rest)], variable, rest, have, true
		}
		have[variable] = rest[:end]
		rest, template = rest[end:], tail
	}
}
