package web

import (
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// A serverSummary is a server in the diagram.
type serverSummary struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	Phase    connect.Phase `json:"phase"`
	Why      string        `json:"why,omitzero"`
	Since    time.Time     `json:"since"`
	Revision mcp.Revision  `json:"revision,omitzero"`
	Pid      int           `json:"pid,omitzero"`
	Started  time.Time     `json:"started,omitzero"`
	Starts   int           `json:"starts"`
	Page     string        `json:"page,omitzero"`
	NextMs   int64         `json:"nextMs,omitzero"`
	Latency  float64       `json:"latencyMs,omitzero"`
	Calls    int           `json:"calls"`
	Errors   int           `json:"errors"`
}

func summaryOf(s connect.State) serverSummary {
	return serverSummary{
		Name: s.Server, Kind: string(s.Kind), Phase: s.Phase, Why: s.Why, Since: s.Since, Revision: s.Revision, Pid: s.Pid,
		Started: s.Started, Starts: s.Starts, Page: webAddress(s.Page), NextMs: s.Next.Milliseconds(),
		Latency: float64(s.Latency.Microseconds()) / 1000, Calls: s.Calls, Errors: s.Errors,
	}
}

// state returns the initial state of a page, which events change later.
func (s *Server) state(r *http.Request) (any, error) {
	feedAt, wireAt := s.feed.last(), s.work.Log.Last() // first: what happens meanwhile is sent again
	servers := []serverSummary{}
	for _, one := range s.work.Fleet.All() {
		servers = append(servers, summaryOf(one.State()))
	}
	sessions, err := s.conversations()
	if err != nil {
		return nil, err
	}
	asks := s.work.Host.Asks()
	if asks == nil {
		asks = []host.Ask{}
	}
	out := map[string]any{
		"version": version.String(), "feed": feedAt, "wire": wireAt,
		"servers": servers, "sessions": sessions, "busy": s.turns.running(), "asks": asks, "tasks": s.work.Host.Tasks(), "notices": s.notices.all(),
		"muted": s.work.Host.Muted(), "revisions": mcp.Revisions(), "only": s.opts.Only,
		"can": map[string]bool{
			"models": s.opts.Models != nil, "eras": s.opts.Eras != nil, "views": s.sandbox.origin() != "" && showsViews(r.Host),
			"add": s.opts.Add != nil, "connect": s.opts.Connect != nil, "remove": s.local(),
		},
	}
	if m := s.work.Host.Model(); m != nil {
		out["model"] = m.Info()
	}
	if s.opts.Pending != nil {
		out["pending"] = s.opts.Pending()
	}
	return out, nil
}

func (s *Server) find(r *http.Request) (*connect.Server, error) {
	one := s.work.Fleet.Get(r.PathValue("name"))
	if one == nil {
		return nil, missing("no server has this name")
	}
	return one, nil
}

// asked returns the server of a request and reads its body into q.
func (s *Server) asked(r *http.Request, q any) (*connect.Server, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return one, body(r, q)
}

func (s *Server) restart(r *http.Request) (any, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, one.Restart()
}

func (s *Server) disable(r *http.Request) (any, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, one.Disable()
}

// setClient changes what the client declares to a server, and connects again.
func (s *Server) setClient(r *http.Request) (any, error) {
	var q host.ClientSettings
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	if err := s.work.Host.SetClientSettings(one.Name(), q); err != nil {
		return nil, fault{http.StatusBadRequest, err}
	}
	return struct{}{}, s.work.Reopen(one.Name())
}

// unmute lets a server ask the user again.
func (s *Server) unmute(r *http.Request) (any, error) {
	one, err := s.find(r)
	if err != nil {
		return nil, err
	}
	s.work.Host.Unmute(one.Name())
	return struct{}{}, nil
}

func (s *Server) pending(*http.Request) (any, error) {
	if s.opts.Pending == nil {
		return []Pending{}, nil
	}
	return s.opts.Pending(), nil
}

// approve starts a server of a project. It fails if the server has changed since
// the user saw it, which its pin tells.
func (s *Server) approve(r *http.Request) (any, error) {
	var q struct {
		Pin string `json:"pin"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if s.opts.Approve == nil {
		return nil, missing("nothing to approve")
	}
	if q.Pin == "" {
		return nil, bad("required: {\"pin\": …}")
	}
	if err := s.opts.Approve(r.Context(), r.PathValue("name"), q.Pin); err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	s.feed.put("pending", s.opts.Pending())
	return struct{}{}, nil
}
