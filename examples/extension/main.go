// This program adds an extension to the protocol: com.example/countdown. It has
// a method (countdown/get), a kind of result (a tool call returns a countdown
// instead of waiting for its end), a subscription filter with a notification,
// and a capability. Clients of older revisions get what their revision can
// express. docs/write-an-extension.md explains each part.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

const (
	extensionID  = "com.example/countdown"
	methodGet    = "countdown/get"
	notification = "notifications/countdown"
	resultType   = "countdown"
	filter       = "countdowns"
)

func init() {
	mcp.RegisterExtension(mcp.Extension{
		ID: extensionID,
		Names: []mcp.NameRule{
			{Method: methodGet, In: mcp.InParams, Path: "id", Kind: "countdown", Header: true},
			{Method: mcp.MethodToolsCall, In: mcp.InResult, ResultType: resultType, Path: "id", Kind: "countdown"},
			{Method: notification, In: mcp.InParams, Path: "id", Kind: "countdown"},
		},
		ForLegacyClient: forLegacyClient,
	})
}

// A countdown is the result of countdown/get, the result of a tool call, and the
// parameters of the notification.
type countdown struct {
	ID   string    `json:"id"`
	Ends time.Time `json:"ends"`
}

func (d countdown) over() mcp.Notification {
	params, _ := mcp.Marshal(d) // cannot fail
	return mcp.Notification{Method: notification, Params: params}
}

// countdowns is the state of the server: the countdowns by id.
type countdowns struct {
	mu  sync.Mutex
	all map[string]countdown
}

func (s *countdowns) add(seconds int) countdown {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := countdown{fmt.Sprint("c", len(s.all)+1), time.Now().Add(time.Duration(seconds) * time.Second)}
	s.all[d.ID] = d
	return d
}

func (s *countdowns) find(id string) (d countdown, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok = s.all[id]
	return d, ok
}

// get serves the method countdown/get.
func (s *countdowns) get(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	var in countdown
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	d, ok := s.find(in.ID)
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("unknown countdown %q", in.ID)
	}
	body, err := mcp.Marshal(d)
	return mcp.Result{Body: body}, err
}

// subscribe serves the member countdowns of a subscription filter: a list of
// ids, of which the client is notified when they are over.
func (s *countdowns) subscribe(_ context.Context, _ *mcp.Call, value json.RawMessage, notify func(mcp.Notification)) (json.RawMessage, func() func(), error) {
	var ids []string
	if err := mcp.Unmarshal(value, &ids); err != nil {
		return nil, nil, mcp.InvalidParams("%s: %v", filter, err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { _, ok := s.find(id); return !ok })
	honoured, err := mcp.Marshal(ids)
	return honoured, func() (stop func()) {
		ctx, stop := context.WithCancel(context.Background())
		for _, id := range ids {
			d, _ := s.find(id)
			timer := time.AfterFunc(time.Until(d.Ends), func() { notify(d.over()) })
			context.AfterFunc(ctx, func() { timer.Stop() })
		}
		return stop
	}, err
}

type launch struct {
	Seconds int `json:"seconds" schema:"minimum=0,maximum=3600"`
}

// asCountdown is middleware of the tool: a client that has declared the
// extension gets a countdown at once, any other one waits for the end.
func (s *countdowns) asCountdown(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Caller.Capabilities == nil || c.Caller.Capabilities.Extensions[extensionID] == nil {
			return next.Serve(ctx, c)
		}
		var in struct {
			Arguments launch `json:"arguments"`
		}
		if err := c.Decode(&in); err != nil {
			return mcp.Result{}, err
		}
		body, err := mcp.Marshal(s.add(in.Arguments.Seconds))
		return mcp.Result{Type: resultType, Body: body}, err
	})
}

// forLegacyClient serves a session of an older revision. Such a revision has no
// further kinds of results and no subscription filters: the client gets a text,
// and the notification without asking for it.
func forLegacyClient(h mcp.Handler, s *mcp.LegacySession) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		res, err := h.Serve(ctx, c)
		if err != nil || res.Type != resultType {
			return res, err
		}
		var d countdown
		if err := res.Decode(&d); err != nil {
			return mcp.Result{}, err
		}
		time.AfterFunc(time.Until(d.Ends), func() { s.Notify(d.over()) })
		res.Type = ""
		res.Body, err = mcp.Marshal(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text("countdown " + d.ID + " has begun")}})
		return res, err
	})
}

func newServer() (*server.Server, error) {
	s, state := server.New(mcp.Implementation{Name: "countdown", Version: "1.0"}, nil), &countdowns{all: map[string]countdown{}}
	server.AddTool(s, "launch", "Count down and launch", func(_ context.Context, _ *mcp.Call, in launch) (string, error) {
		time.Sleep(time.Duration(in.Seconds) * time.Second)
		return "launched", nil
	}, &server.ToolOptions{Middleware: []mcp.Middleware{state.asCountdown}})
	return s, s.AddExtension(server.Extension{
		ID:            extensionID,
		Settings:      json.RawMessage(`{"maxSeconds":3600}`),
		Methods:       map[string]mcp.HandlerFunc{methodGet: state.get},
		Subscriptions: map[string]server.SubscribeFunc{filter: state.subscribe},
	})
}

func main() {
	s, err := newServer()
	if err == nil {
		err = stdio.Serve(context.Background(), s, nil)
	}
	if err != nil {
		log.Fatal(err)
	}
}
