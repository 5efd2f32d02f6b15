// Package keyword replaces a language model where none is configured: it matches
// the words of a sentence to a tool and its arguments and proposes that call. It
// answers only with the proposal, the tool's result, or that no tool matches.
//
//	"add 2 and 3"                     calc__add {"a":2,"b":3}
//	"create a note called Plan"       notes__create_note {"path":"Plan"}
//	"search notes for budget"         notes__search_notes {"query":"budget"}
//
// Every answer has [Label].
package keyword

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/mcp"
)

// Label is shown with every answer of this model.
const Label = "No model connected · matching keywords"

// Model matches keywords. It needs no key and no network.
type Model struct{}

// Info returns the description of the model.
func (Model) Info() llm.Info {
	return llm.Info{Provider: "none", Name: "keyword", Label: Label}
}

// Stream answers the last message.
func (Model) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrCanceled, Provider: "none", Err: err})
			return
		}
		text, call := answer(r)
		message := llm.Message{Role: llm.RoleAssistant}
		stop := llm.StopEnd
		if text != "" {
			if !yield(llm.Event{Kind: llm.EventText, Text: text}, nil) {
				return
			}
			message.Parts = append(message.Parts, llm.Text(text))
		}
		if call != nil {
			if !yield(llm.Event{Kind: llm.EventCall, Call: call}, nil) {
				return
			}
			message.Parts = append(message.Parts, llm.Part{Kind: llm.PartToolCall, Call: call})
			stop = llm.StopToolCalls
		}
		yield(llm.Event{Kind: llm.EventDone, Stop: stop, Message: &message}, nil)
	}
}

// answer returns the text and the call for the last message of a request.
func answer(r *llm.Request) (string, *llm.ToolCall) {
	if len(r.Messages) == 0 {
		return "Nothing to answer.", nil
	}
	last := r.Messages[len(r.Messages)-1]
	id := fmt.Sprintf("match-%d", len(r.Messages))
	if last.Role == llm.RoleTool {
		return afterResult(r, last, id)
	}
	sentence := firstText(last)
	if slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == "search_tools" }) {
		query, err := json.Marshal(map[string]any{"query": sentence, "limit": 5})
		if err != nil {
			return err.Error(), nil
		}
		return "", &llm.ToolCall{ID: id, Name: "search_tools", Arguments: query}
	}
	return propose(sentence, r.Tools, id, false)
}

// firstText returns what the user wrote, without attachments.
func firstText(m llm.Message) string {
	for _, p := range m.Parts {
		if p.Kind == llm.PartText {
			return p.Text
		}
	}
	return ""
}

// fence matches what the host puts around a result, which is not shown here.
var fence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^<result from="[^"]*" id="([^"]*)">\n(.*)\n</result id="([^"]*)">(.*)$`)
})

// afterResult answers a tool result: with a call of a tool that a search found,
// or with the text of the result.
func afterResult(r *llm.Request, last llm.Message, id string) (string, *llm.ToolCall) {
	var texts []string
	for _, p := range last.Parts {
		if p.Result == nil {
			continue
		}
		for _, q := range p.Result.Parts {
			text := llm.Describe(q)
			if m := fence().FindStringSubmatch(text); m != nil {
				text = m[2] + m[4]
			}
			texts = append(texts, text)
		}
	}
	if len(r.Messages) >= 3 {
		calls := r.Messages[len(r.Messages)-2].Calls()
		if len(calls) == 1 && calls[0].Name == "search_tools" {
			return fromSearch(firstText(r.Messages[len(r.Messages)-3]), strings.Join(texts, "\n"), id)
		}
	}
	return strings.Join(texts, "\n"), nil
}

func fromSearch(sentence, found, id string) (string, *llm.ToolCall) {
	var list []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"inputSchema"`
	}
	if mcp.Unmarshal([]byte(found), &list) != nil {
		return noMatch, nil
	}
	var tools []llm.Tool
	for _, t := range list {
		tools = append(tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return propose(sentence, tools, id, true)
}

const noMatch = "No tool matches these words (" + Label + "). Use words of the name or the description of a tool."

// propose returns a call of the tool that matches a sentence best. If a required
// argument is missing, it returns only a text.
func propose(sentence string, tools []llm.Tool, id string, wrapped bool) (string, *llm.ToolCall) {
	best := match(sentence, tools)
	if best == nil {
		return noMatch, nil
	}
	if len(best.missing) > 0 {
		return fmt.Sprintf("The best match is %s, but it also needs %s (%s). Add what is missing as name=value.",
			best.tool.Name, strings.Join(best.missing, ", "), Label), nil
	}
	args, err := json.Marshal(best.args)
	if err != nil {
		return err.Error(), nil
	}
	call := &llm.ToolCall{ID: id, Name: best.tool.Name, Arguments: args}
	text := fmt.Sprintf("%s %s (%s)\n", best.tool.Name, args, Label)
	if wrapped {
		outer, err := json.Marshal(map[string]any{"name": best.tool.Name, "arguments": json.RawMessage(args)})
		if err != nil {
			return err.Error(), nil
		}
		call.Name, call.Arguments = "call_tool", outer
	}
	return text, call
}

// A candidate is a tool with the arguments found in a sentence.
type candidate struct {
	tool    llm.Tool
	args    map[string]any
	missing []string // required arguments that were not found
	score   float64
}

// hostTools belong to the host and are never proposed.
var hostTools = []string{"search_tools", "call_tool", "read_result", "load_skill", "read_skill_file"}

// match returns the tool that matches best, by its words and by the arguments
// found; nil if none matches.
func match(sentence string, tools []llm.Tool) *candidate {
	index := bm25.New(3, 1, 0.5)
	byName := map[string]llm.Tool{}
	for _, t := range tools {
		if slices.Contains(hostTools, t.Name) {
			continue
		}
		byName[t.Name] = t
		index.Put(t.Name, strings.ReplaceAll(t.Name, "__", " "), t.Description, propertyNames(t.Schema))
	}
	words := slices.DeleteFunc(wordsOf(sentence), func(w string) bool { return slices.Contains(stopWords, w) })
	var best *candidate
	for _, hit := range index.Search(sentence, 8, nil) {
		t := byName[hit.ID]
		c := &candidate{tool: t, score: hit.Score}
		c.args, c.missing = fill(sentence, t)
		named := nameShare(t.Name, words)
		if named == 0 && shared(t.Description, words) < 2 {
			continue // one common word is a coincidence
		}
		c.score *= 0.2 + named
		if len(c.missing) > 0 {
			c.score *= 0.4
		}
		if c.score > 0 && (best == nil || c.score > best.score) {
			best = c
		}
	}
	return best
}

// nameShare returns the share of the words of a tool's name that occur in the
// sentence.
func nameShare(name string, words []string) float64 {
	_, tool, ok := strings.Cut(name, "__")
	if !ok {
		tool = name
	}
	parts := wordsOf(strings.NewReplacer("_", " ", "-", " ").Replace(tool))
	if len(parts) == 0 {
		return 0
	}
	return float64(countIn(parts, words)) / float64(len(parts))
}

// shared counts the words that occur in a description.
func shared(description string, words []string) int {
	return countIn(words, wordsOf(description))
}

// countIn counts the words that occur in others.
func countIn(words, others []string) int {
	n := 0
	for _, w := range words {
		if slices.ContainsFunc(others, func(o string) bool { return sameStem(w, o) }) {
			n++
		}
	}
	return n
}

// sameStem reports whether two words differ only in a common ending.
func sameStem(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, strings.TrimSuffix(a, "e"))
	return ok && len(a) >= 3 && slices.Contains([]string{"s", "es", "ed", "ing", "ies", "e"}, rest)
}

// wordsOf returns the words of a text in lower case, without punctuation.
func wordsOf(s string) []string {
	var all []string
	bm25.Scan(s, func(word []byte, _, _ int) bool {
		all = append(all, string(word))
		return true
	})
	return all
}

func propertyNames(schema json.RawMessage) string {
	var names []string
	for _, p := range properties(schema) {
		names = append(names, p.name)
	}
	return strings.Join(names, " ")
}
