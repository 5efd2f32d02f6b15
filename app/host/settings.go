package host

import (
	"context"
	"slices"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// What the protocol has deprecated, for older servers: roots and the level of log
// messages. To take it away, delete this file and the call in deprecated.

// ClientSettings are what the client of a server declares to it.
type ClientSettings struct {
	Roots    []mcp.Root   `json:"roots"`    // none: the client does not declare them
	LogLevel mcp.LogLevel `json:"logLevel"` // the least severe log messages to request
}

// ClientSettings returns the settings for a server.
func (h *Host) ClientSettings(server string) ClientSettings {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.settings[server]
	if !ok {
		s.LogLevel = mcp.LogInfo
	}
	s.Roots = slices.Clone(s.Roots)
	return s
}

// SetClientSettings changes the settings for a server, for its next connection:
// what [Host.ClientOptions] returns. It fails if a root is not a folder of this
// machine or the level is unknown.
func (h *Host) SetClientSettings(server string, s ClientSettings) error {
	for _, r := range s.Roots {
		if err := r.Check(); err != nil {
			return err
		}
	}
	if _, err := mcp.ParseLogLevel(string(s.LogLevel)); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settings == nil {
		h.settings = map[string]ClientSettings{}
	}
	h.settings[server] = s
	return nil
}

// DeclareRoots makes the client of a server declare roots, unless its settings were
// changed.
func (h *Host) DeclareRoots(server string, roots []mcp.Root) {
	h.mu.Lock()
	_, changed := h.settings[server]
	h.mu.Unlock()
	if !changed {
		h.SetClientSettings(server, ClientSettings{Roots: roots, LogLevel: mcp.LogInfo}) // only fails for roots that are no folders
	}
}

// declare applies the settings of a server to the options of its client.
func (h *Host) declare(server string, o *client.Options) {
	now := h.ClientSettings(server)
	o.Logging.Level = now.LogLevel
	if len(now.Roots) > 0 {
		o.Roots = func(context.Context) ([]mcp.Root, error) { return h.ClientSettings(server).Roots, nil }
	}
}
