package repl

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	listTTL           = 15 * time.Second // how long a fetched list is used
	completionTimeout = 2 * time.Second  // how long a completion waits for the server
	maxListed         = 1000             // the items of a list that are fetched
)

// methods lists the candidates for the method of raw.
var methods = []string{mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList,
	mcp.MethodResourcesRead, mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete}

// A Completer returns candidates for the commands of one server. It caches the
// server's lists; one that cannot be fetched is empty. It is not safe for
// concurrent use.
type Completer struct {
	Client *client.Client

	version   atomic.Int64 // of the lists, raised by forget
	tools     cachedList[mcp.Tool]
	resources cachedList[mcp.Resource]
	templates cachedList[mcp.ResourceTemplate]
	prompts   cachedList[mcp.Prompt]
}

// forget invalidates the lists. It is safe for concurrent use.
func (c *Completer) forget() { c.version.Add(1) }

// A cachedList is a list with the time and version that it was fetched at.
type cachedList[T any] struct {
	all     []*T
	at      time.Time
	version int64
}

func (l *cachedList[T]) get(version int64, list iter.Seq2[*T, error]) []*T {
	if time.Since(l.at) <= listTTL && l.version == version {
		return l.all
	}
	l.all, l.at, l.version = nil, time.Now(), version
	for one, err := range list {
		if err != nil || len(l.all) == maxListed {
			break
		}
		l.all = append(l.all, one)
	}
	return l.all
}

// Candidates returns the words that can follow those in done, whose first is the
// command and which leave out the server. Some do not begin with word: the caller
// filters them with [Matching]. A server's name that would be read as a flag is
// left out.
func (c *Completer) Candidates(ctx context.Context, done []string, word string) []string {
	return slices.DeleteFunc(c.candidates(ctx, done, word), func(w string) bool { return strings.HasPrefix(w, "-") })
}

func (c *Completer) candidates(ctx context.Context, done []string, word string) []string {
	if len(done) == 0 {
		return slices.Concat(Commands, shellOnly)
	}
	switch command, at := done[0], len(done); {
	case command == "help" && at == 1:
		return slices.Clone(Commands)
	case (command == "listen" || command == "trace") && at == 1:
		return []string{"on", "off"}
	case command == "raw" && at == 1:
		return slices.Clone(methods)
	case command == "tools", command == "call" && at == 1:
		return names(c.listTools(ctx), func(t *mcp.Tool) string { return t.Name })
	case command == "call":
		if t := named(c.listTools(ctx), done[1], func(t *mcp.Tool) string { return t.Name }); t != nil {
			return words(ToolArgument(t.InputSchema, done[2:], word))
		}
	case command == "read" && at == 1, command == "listen":
		return words(URI(ctx, c.Client, c.resources.get(c.version.Load(), c.Client.Resources(ctx)), c.listTemplates(ctx), word))
	case command == "prompt" && at == 1:
		return c.promptNames(ctx)
	case command == "prompt":
		if p := named(c.listPrompts(ctx), done[1], func(p *mcp.Prompt) string { return p.Name }); p != nil {
			return words(PromptArgument(ctx, c.Client, p, done[2:], word))
		}
	case command == "complete" && at == 1:
		return append(c.promptNames(ctx), names(c.listTemplates(ctx), func(t *mcp.ResourceTemplate) string { return t.URITemplate })...)
	}
	return nil
}

func (c *Completer) listTools(ctx context.Context) []*mcp.Tool {
	return c.tools.get(c.version.Load(), c.Client.Tools(ctx))
}

func (c *Completer) listTemplates(ctx context.Context) []*mcp.ResourceTemplate {
	return c.templates.get(c.version.Load(), c.Client.ResourceTemplates(ctx))
}

func (c *Completer) listPrompts(ctx context.Context) []*mcp.Prompt {
	return c.prompts.get(c.version.Load(), c.Client.Prompts(ctx))
}

func (c *Completer) promptNames(ctx context.Context) []string {
	return names(c.listPrompts(ctx), func(p *mcp.Prompt) string { return p.Name })
}

func words(all []Candidate) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.Word
	}
	return out
}

func names[T any](all []*T, nameOf func(*T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = nameOf(one)
	}
	return out
}

// named returns the item with a name; nil if there is none.
func named[T any](all []*T, name string, nameOf func(*T) string) *T {
	if i := slices.IndexFunc(all, func(one *T) bool { return nameOf(one) == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// tab handles the Tab key: it extends the word at the cursor by the common prefix
// of all candidates, or prints the candidates.
func (c *Completer) tab(e *editor, line string, pos int) (string, int) {
	ctx, stop := context.WithTimeout(context.Background(), completionTimeout)
	defer stop()
	done, word, start := args.Unfinished(line[:pos])
	all := Matching(c.Candidates(ctx, done, word), word)
	if len(all) == 0 {
		return line, pos
	}
	common := commonPrefix(all)
	if len(all) > 1 && common == word {
		fmt.Fprint(e.term, columns(all, e.width()))
		return line, pos
	}
	text := args.Quote(common)
	if len(all) == 1 && !strings.HasSuffix(common, "=") && !strings.HasSuffix(common, "/") && !strings.HasSuffix(common, "{") {
		text += " "
	} else if strings.HasPrefix(text, "'") {
		text = strings.TrimSuffix(text, "'") // the quoted word continues
	}
	return line[:start] + text + line[pos:], start + len(text)
}

func commonPrefix(all []string) string {
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

// columns lays words out in columns.
func columns(all []string, width int) string {
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
