package mcp

import "fmt"

// A Discovery is a server's description of itself: the result of
// [MethodDiscover]. The supported revisions are part of the envelope and
// therefore absent; see [MethodRevision].
type Discovery struct {
	Capabilities ServerCapabilities `json:"capabilities"`
	// Instructions is advice for a model on how to use the server.
	Instructions string `json:"instructions,omitzero"`
	// Server is the server's name and version; nil means unknown. It comes from
	// [Result.Server], not from the body.
	Server *Implementation `json:"-"`
}

// DecodeDiscovery decodes the result of a [MethodDiscover] call.
func DecodeDiscovery(r Result) (*Discovery, error) {
	d := new(Discovery)
	if err := r.Decode(d); err != nil {
		return nil, fmt.Errorf("result of %s: %w", MethodDiscover, err)
	}
	d.Server = r.Server
	return d, nil
}
