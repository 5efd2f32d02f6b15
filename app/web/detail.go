package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
)

// A detail is everything about a server.
type detail struct {
	serverSummary
	*lists
	Transport string              `json:"transport"`
	Source    string              `json:"source,omitzero"`
	Memory    int64               `json:"memory,omitzero"` // resident bytes of its process
	Stderr    string              `json:"stderr,omitzero"`
	Handshake []summary           `json:"handshake"` // the messages of the handshake
	Client    host.ClientSettings `json:"client"`
}

// lists are the identity of a server and what it offers.
type lists struct {
	Server       *mcp.Implementation     `json:"server,omitzero"`
	Instructions string                  `json:"instructions,omitzero"`
	Capabilities *mcp.ServerCapabilities `json:"capabilities,omitzero"`
	Tools        []*mcp.Tool             `json:"tools"`
	Resources    []*mcp.Resource         `json:"resources"`
	Templates    []*mcp.ResourceTemplate `json:"templates"`
	Prompts      []*mcp.Prompt           `json:"prompts"`
	Skills       []*skills.Skill         `json:"skills"`
	Broken       []brokenItem            `json:"broken"`        // definitions that the client leaves out
	More         map[string]bool         `json:"more,omitzero"` // incomplete lists
	Problems     []string                `json:"problems"`      // errors of lists
}

const (
	mostItems = 2000            // of one list
	askFor    = 5 * time.Second // to list the features of a server
)

// server returns everything about a server. Lists that fail are problems in the
// result, not errors.
func (s *Server) server(r *http.Request) (any, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	state := one.State()
	d := &detail{
		serverSummary: summaryOf(state), Transport: one.Entry().CommandLine(), Source: one.Entry().Source.File, Memory: resident(state.Pid), Stderr: one.Stderr(),
		lists: newLists(), Handshake: s.handshake(one.Name()), Client: s.work.Host.ClientSettings(one.Name()),
	}
	if !state.Usable() {
		return d, nil
	}
	ctx, stop := context.WithTimeout(r.Context(), askFor)
	defer stop()
	d.lists = s.listed.of(ctx, one.Name(), state.Starts, r.URL.Query().Has("fresh"), func(ctx context.Context, l *lists) {
		l.ask(ctx, one.Client())
		if d.Kind == "http" {
			s.addHidden(l, d.Name)
		}
	})
	raw, err := mcp.Marshal(d)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(s.work.Secrets().KnownJSON(raw)), nil // by name, members of schemas would be secrets
}

func newLists() *lists {
	return &lists{Tools: []*mcp.Tool{}, Resources: []*mcp.Resource{}, Templates: []*mcp.ResourceTemplate{}, Prompts: []*mcp.Prompt{}, Skills: []*skills.Skill{}, Broken: []brokenItem{}, Problems: []string{}, More: map[string]bool{}}
}

// ask requests the identity and the lists of the server.
func (d *lists) ask(ctx context.Context, c *client.Client) {
	about, err := c.Discover(ctx)
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
		return
	}
	d.Server, d.Instructions, d.Capabilities = about.Server, about.Instructions, &about.Capabilities
	if about.Capabilities.Tools != nil {
		d.Tools = gather(ctx, d, c, list[mcp.Tool]{"tools", "tool", mcp.MethodToolsList, "tools", func(t *mcp.Tool) string { return t.Name }})
	}
	if about.Capabilities.Resources != nil {
		d.Resources = gather(ctx, d, c, list[mcp.Resource]{"resources", "resource", mcp.MethodResourcesList, "resources", func(r *mcp.Resource) string { return r.URI }})
		d.Templates = gather(ctx, d, c, list[mcp.ResourceTemplate]{"templates", "template", mcp.MethodResourceTemplatesList, "resourceTemplates", func(r *mcp.ResourceTemplate) string { return r.URITemplate }})
	}
	if about.Capabilities.Prompts != nil {
		d.Prompts = gather(ctx, d, c, list[mcp.Prompt]{"prompts", "prompt", mcp.MethodPromptsList, "prompts", func(p *mcp.Prompt) string { return p.Name }})
	}
	if _, ok := skills.Declared(about); ok {
		for one, err := range skills.List(ctx, c) {
			if err != nil {
				d.Problems = append(d.Problems, "skills: "+err.Error())
				break
			}
			if len(d.Skills) == mostItems {
				d.More["skills"] = true
				break
			}
			d.Skills = append(d.Skills, one)
		}
	}
}

// A list describes one of the lists of a server.
type list[T any] struct {
	what   string // its name in errors
	kind   string // of an item
	method string
	member string
	key    func(*T) string // identifies an item
}

// gather reads a list as the server sent it. It returns the definitions that are
// valid, as the host uses them, and adds the others to d.Broken.
func gather[T any](ctx context.Context, d *lists, c *client.Client, l list[T]) []*T {
	all, seen, n := []*T{}, map[string]bool{}, 0
	each := func(*json.RawMessage) string { n++; return strconv.Itoa(n) } // items of the same name are listed too
	for raw, err := range client.List(ctx, c, l.method, nil, l.member, each) {
		if err != nil {
			d.Problems = append(d.Problems, l.what+": "+err.Error())
			break
		}
		if len(all)+len(d.Broken) >= mostItems {
			d.More[l.what] = true
			break
		}
		item := new(T)
		err = mcp.Unmarshal(*raw, item)
		switch key := l.key(item); {
		case err != nil:
			d.addBroken(l.kind, *raw, err.Error())
		case key == "":
			d.addBroken(l.kind, *raw, "it has no name or URI")
		case seen[key]:
			d.addBroken(l.kind, *raw, "an earlier "+l.kind+" has the same name; only that one is used")
		default:
			seen[key] = true
			all = append(all, item)
		}
	}
	return all
}

// handshakes are the methods of the handshakes of all revisions.
var handshakes = []string{mcp.MethodInitialize, mcp.NotificationInitialized, mcp.MethodDiscover}

// handshake returns the messages of the handshake of the latest connection, if
// the log still has them.
func (s *Server) handshake(server string) []summary {
	found := []speccheck.Message{}
	for _, method := range handshakes {
		list, _ := s.work.Log.Filter(wirelog.Query{Server: server, Method: method}, 0, 6)
		found = append(found, list...)
	}
	slices.SortFunc(found, func(a, b speccheck.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	if n := len(found); n > 0 {
		last := found[n-1].Conn
		found = slices.DeleteFunc(found, func(m speccheck.Message) bool { return m.Conn != last })
	}
	return summaries(found[:min(len(found), 6)])
}

// process returns the state of a server's process.
func (s *Server) process(r *http.Request) (any, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	state := one.State()
	return map[string]any{"pid": state.Pid, "memory": resident(state.Pid), "started": state.Started, "stderr": one.Stderr()}, nil
}
