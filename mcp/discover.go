package mcp

import "fmt"

// A Discovery is what a server says about itself: the answer to
// [MethodDiscover]. Which revisions it supports is part of the envelope and not
// in it; see [MethodRevision].
type Discovery struct {
	Capabilities ServerCapabilities `json:"capabilities"`
	// Instructions is advice to a model on how to use the server.
	Instructions string `json:"instructions,omitzero"`
	// Server is who answered; nil means that it is not known. It stands in
	// [Result.Server], not in the body.
	Server *Implementation `json:"-"`
}

// DecodeDiscovery reads the result of a [MethodDiscover] call.
func DecodeDiscovery(r Result) (*Discovery, error) {
	d := new(Discovery)
	if err := r.Decode(d); err != nil {
		return nil, fmt.Errorf("answer to %s: %w", MethodDiscover, err)
	}
	d.Server = r.Server
	return d, nil
}
