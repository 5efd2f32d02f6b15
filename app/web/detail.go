package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A detail is everything about a server.
type detail struct {
	serverSummary
	Transport    string                  `json:"transport"`
	Source       string                  `json:"source,omitzero"`
	Memory       int64                   `json:"memory,omitzero"` // resident bytes of its process
	Stderr       string                  `json:"stderr,omitzero"`
	Server       *mcp.Implementation     `json:"server,omitzero"`
	Instructions string                  `json:"instructions,omitzero"`
	Capabilities *mcp.ServerCapabilities `json:"capabilities,omitzero"`
	Tools        []*mcp.Tool             `json:"tools"`
	Resources    []*mcp.Resource         `json:"resources"`
	Templates    []*mcp.ResourceTemplate `json:"templates"`
	Prompts      []*mcp.Prompt           `json:"prompts"`
	More         map[string]bool         `json:"more,omitzero"` // incomplete lists
	Problems     []string                `json:"problems"`      // errors of lists
	Handshake    []summary               `json:"handshake"`     // the messages of the handshake
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
		Tools: []*mcp.Tool{}, Resources: []*mcp.Resource{}, Templates: []*mcp.ResourceTemplate{}, Prompts: []*mcp.Prompt{}, Problems: []string{}, More: map[string]bool{},
		Handshake: s.handshake(one.Name()),
	}
	if !state.Usable() {
		return d, nil
	}
	ctx, stop := context.WithTimeout(r.Context(), askFor)
	defer stop()
	d.ask(ctx, one.Client())
	return d, nil
}

// ask requests the identity and the lists of the server.
func (d *detail) ask(ctx context.Context, c *client.Client) {
	about, err := c.Discover(ctx)
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
		return
	}
	d.Server, d.Instructions, d.Capabilities = about.Server, about.Instructions, &about.Capabilities
	if about.Capabilities.Tools != nil {
		d.Tools = gather(d, "tools", c.Tools(ctx))
	}
	if about.Capabilities.Resources != nil {
		d.Resources = gather(d, "resources", c.Resources(ctx))
		d.Templates = gather(d, "templates", c.ResourceTemplates(ctx))
	}
	if about.Capabilities.Prompts != nil {
		d.Prompts = gather(d, "prompts", c.Prompts(ctx))
	}
}

func gather[T any](d *detail, what string, list func(func(*T, error) bool)) []*T {
	all := []*T{}
	for item, err := range list {
		if err != nil {
			d.Problems = append(d.Problems, what+": "+err.Error())
			break
		}
		if len(all) == mostItems {
			d.More[what] = true
			break
		}
		all = append(all, item)
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
