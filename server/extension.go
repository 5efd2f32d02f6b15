package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Extension adds an extension of the protocol to a server.
type Extension struct {
	// ID is the identifier under which the server declares the extension, such
	// as "io.modelcontextprotocol/tasks".
	ID string
	// Settings are the settings in the declaration, a JSON object; nil means
	// {}.
	Settings json.RawMessage
	// Methods serves the methods that the extension adds, by name.
	Methods map[string]mcp.HandlerFunc
	// Subscriptions serves the members that the extension adds to the filter of
	// a subscription, by name.
	Subscriptions map[string]SubscribeFunc
}

// A SubscribeFunc opens the part of a subscription that one member of the
// filter asks for. It returns the part of the member's value that the server
// honours, for the acknowledgement; nil means none of it. After the
// acknowledgement was sent the server calls start, from when on notify may be
// called, by any goroutine; notify does not block. stop ends the subscription
// and need not wait for a notification that is being sent.
//
// An error refuses the whole subscription.
type SubscribeFunc func(ctx context.Context, c *mcp.Call, value json.RawMessage, notify func(mcp.Notification)) (honoured json.RawMessage, start func() (stop func()), err error)

// extensions holds the extensions of a server.
type extensions struct {
	mu       sync.RWMutex
	settings map[string]json.RawMessage
	methods  map[string]mcp.HandlerFunc
	filters  map[string]SubscribeFunc
}

// AddExtension adds an extension. It returns an error if the identifier or the
// settings are invalid, if a function is nil, or if the extension, one of its
// methods or one of its filter members exists already, also in the protocol.
func (s *Server) AddExtension(e Extension) error {
	if !strings.Contains(e.ID, "/") || !protocol.ValidMetaKey(e.ID) {
		return fmt.Errorf("extension %q: the identifier must have a prefix and a name, such as com.example/name", e.ID)
	}
	settings := e.Settings
	if settings == nil {
		settings = json.RawMessage("{}")
	}
	if rawjson.Check(settings) != nil || !rawjson.IsObject(bytes.TrimSpace(settings)) {
		return fmt.Errorf("extension %q: the settings must be a JSON object", e.ID)
	}
	x := &s.extensions
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.settings[e.ID] != nil {
		return fmt.Errorf("extension %q was added before", e.ID)
	}
	for method, f := range e.Methods {
		if x.methods[method] != nil || protocol.IsCore(method) {
			return fmt.Errorf("extension %q: method %q exists already", e.ID, method)
		}
		if f == nil {
			return fmt.Errorf("extension %q: method %q has no function", e.ID, method)
		}
	}
	for member, f := range e.Subscriptions {
		if x.filters[member] != nil || isCoreFilter(member) {
			return fmt.Errorf("extension %q: subscription filter %q exists already", e.ID, member)
		}
		if f == nil {
			return fmt.Errorf("extension %q: subscription filter %q has no function", e.ID, member)
		}
	}
	if x.settings == nil {
		x.settings, x.methods, x.filters = map[string]json.RawMessage{}, map[string]mcp.HandlerFunc{}, map[string]SubscribeFunc{}
	}
	x.settings[e.ID] = settings
	maps.Copy(x.methods, e.Methods)
	maps.Copy(x.filters, e.Subscriptions)
	return nil
}

// isCoreFilter reports whether a member of a subscription filter is one of the
// protocol.
func isCoreFilter(member string) bool {
	switch member {
	case "toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions":
		return true
	}
	return false
}

// method returns the function that serves a method; nil if there is none.
func (x *extensions) method(name string) mcp.HandlerFunc {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.methods[name]
}

// declared returns the capabilities of extensions: those of the options and
// those that were added.
func (x *extensions) declared(more map[string]json.RawMessage) map[string]json.RawMessage {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.settings) == 0 {
		return more
	}
	all := maps.Clone(x.settings)
	maps.Copy(all, more)
	return all
}

// subscribe opens the parts of a subscription that extensions serve. It returns
// the members for the acknowledgement and the functions that start the parts.
func (x *extensions) subscribe(ctx context.Context, c *mcp.Call, members map[string]json.RawMessage, notify func(mcp.Notification)) (honoured map[string]json.RawMessage, starts []func() (stop func()), err error) {
	for _, member := range slices.Sorted(maps.Keys(members)) {
		x.mu.RLock()
		f := x.filters[member]
		x.mu.RUnlock()
		if f == nil {
			continue
		}
		value, start, err := f(ctx, c, members[member], notify)
		if err != nil {
			return nil, nil, err
		}
		if value == nil {
			continue
		}
		if honoured == nil {
			honoured = map[string]json.RawMessage{}
		}
		honoured[member] = value
		if start != nil {
			starts = append(starts, start)
		}
	}
	return honoured, starts, nil
}
