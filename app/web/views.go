package web

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// openTimeout bounds the reading of a view from its server.
const openTimeout = 15 * time.Second

// A viewWants is what a view asks for, for the user to grant.
type viewWants struct {
	Domains     []string `json:"domains,omitzero"`
	Permissions []string `json:"permissions,omitzero"`
}

// openView reads the view of a tool and returns where its frame is. If the view
// asks for access to the network or for features of the browser, and the request
// does not say whether the user grants them, it returns what the view wants.
func (s *Server) openView(r *http.Request) (any, error) {
	var q struct {
		Server  string `json:"server"`
		Tool    string `json:"tool"`
		Session string `json:"session"`
		Grant   *bool  `json:"grant"`
		// Wants is what the user was shown: a grant holds for nothing else.
		Wants viewWants `json:"wants"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if s.sandbox.origin() == "" || !showsViews(r.Host) {
		return nil, fault{http.StatusConflict, errors.New("views are shown only in a browser on the machine where Tenon runs, under 127.0.0.1 or localhost")}
	}
	one := s.work.Fleet.Get(q.Server)
	if one == nil {
		return nil, missing("no server has this name")
	}
	ctx, stop := context.WithTimeout(r.Context(), openTimeout)
	defer stop()
	uri, tool, err := s.work.Host.ToolView(ctx, q.Server, q.Tool)
	if err != nil {
		return nil, err
	}
	if uri == "" {
		return nil, missing("this tool has no view")
	}
	page, err := apps.Read(ctx, one.Client(), uri)
	if err != nil {
		return nil, err
	}
	problems := []string{}
	for _, p := range page.Problems {
		problems = append(problems, visible.Line(p.Error()))
	}
	wants := viewWants{page.UI.CSP.Domains(), page.UI.Permissions.Features()}
	changed := q.Grant != nil && *q.Grant && !(slices.Equal(q.Wants.Domains, wants.Domains) && slices.Equal(q.Wants.Permissions, wants.Permissions))
	if (q.Grant == nil || changed) && len(wants.Domains)+len(wants.Permissions) > 0 {
		return map[string]any{"wants": wants, "problems": problems}, nil
	}
	if q.Grant != nil && !*q.Grant {
		page.UI.CSP, page.UI.Permissions = nil, apps.Permissions{}
	}
	return s.showView(r, host.View{Server: q.Server, Tool: q.Tool, Session: q.Session}, page, tool, problems)
}

// showView adds a view to the sandbox, and to the audit log.
func (s *Server) showView(r *http.Request, v host.View, page *apps.Page, tool *mcp.Tool, problems []string) (any, error) {
	policy, _ := page.UI.CSP.Header()
	one := &shownView{View: v, page: "http://" + r.Host, html: page.HTML, policy: policy, allowed: page.UI.CSP.ConnectionAllowlist(), features: page.UI.Permissions.Features()}
	one.ctx, one.close = context.WithCancel(s.ctx)
	s.sandbox.add(one)
	granted := map[string]any{}
	if page.UI.CSP != nil {
		granted["csp"] = &apps.CSP{ConnectDomains: valid(page.UI.CSP.ConnectDomains), ResourceDomains: valid(page.UI.CSP.ResourceDomains), FrameDomains: valid(page.UI.CSP.FrameDomains), BaseURIDomains: valid(page.UI.CSP.BaseURIDomains)}
	}
	if !page.UI.Permissions.IsZero() {
		granted["permissions"] = page.UI.Permissions
	}
	if err := s.work.Host.OpenView(one.View, map[string]any{"uri": page.URI, "policy": policy, "permissions": page.UI.Permissions}); err != nil {
		s.sandbox.remove(one.ID)
		return nil, err
	}
	return map[string]any{
		"id": one.ID, "proxy": s.sandbox.origin() + "/proxy?view=" + one.ID, "origin": s.sandbox.origin(), "allow": strings.Join(one.features, "; "),
		"border": page.UI.PrefersBorder == nil || *page.UI.PrefersBorder, "tool": tool, "granted": granted, "problems": problems,
	}, nil
}

// valid returns the domains that are in the policy.
func valid(domains []string) []string {
	return (&apps.CSP{ConnectDomains: domains}).Domains()
}

// showsViews reports whether a page that is open under this name can show views:
// a name of this machine that a policy can contain, so not [::1].
func showsViews(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = hostport
	}
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Is4() && addr.IsLoopback()
}

// Limits of the requests of a view.
const (
	maxViewRequests = 8       // that run at once
	viewBody        = 4 << 20 // bytes of one

	// What a view does is written to the audit log. It may fill the log with
	// auditBurst bytes at once, and with auditRate a second.
	auditBurst = 8 << 20
	auditRate  = 16 << 10
	auditCost  = 1 << 10 // of a record without its arguments
)

// viewRefused is the code of errors for requests that are refused.
const viewRefused = -32000

// viewRequest serves a request of a view. The response has a result or an error
// of JSON-RPC, for the view.
func (s *Server) viewRequest(r *http.Request) (any, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, viewBody)
	var q struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Number int             `json:"number"` // of the request, for progress
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	cost := 0
	if q.Method != mcp.NotificationMessage && q.Method != host.MethodUpdateContext { // the others are audited
		cost = auditCost + len(q.Params)
	}
	v, err := s.sandbox.begin(r.PathValue("id"), cost)
	if err == errViewClosed {
		return nil, missing(err.Error())
	}
	if err != nil {
		return map[string]any{"error": map[string]any{"code": viewRefused, "message": err.Error()}}, nil
	}
	defer s.sandbox.end(v)
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(v.ctx, stop)()
	result, err := s.work.Host.ViewRequest(ctx, v.View, q.Method, q.Params, func(p mcp.ProgressParams) {
		s.feed.put("view", map[string]any{"id": v.ID, "number": q.Number, "progress": p})
	})
	if err == nil {
		return map[string]any{"result": s.clean(result)}, nil
	}
	failed := map[string]any{"code": mcp.CodeInternal, "message": err.Error()}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		failed["code"], failed["message"] = e.Code, e.Message
		if len(e.Data) > 0 {
			failed["data"] = e.Data
		}
	} else if _, ok := errors.AsType[*host.DeniedError](err); ok {
		failed["code"] = viewRefused
	}
	return map[string]any{"error": s.clean(failed)}, nil
}

func (s *Server) closeView(r *http.Request) (any, error) {
	s.sandbox.remove(r.PathValue("id"))
	return struct{}{}, nil
}
