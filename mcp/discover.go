package mcp

import "fmt"

// A Discovery is what a server says about itself: the answer to
// [MethodDiscover].
type Discovery struct {
	Capabilities ServerCapabilities `json:"capabilities"`
	// Instructions is advice to a model on how to use the server.
	Instructions string `json:"instructions,omitzero"`
	// Server is who answered; nil means that it is not known. It stands in
	// [Result.Server], not in the body.
	Server *Implementation `json:"-"`
	// Revision is the protocol revision that the connection uses; empty for a
	// server in the same process. It stands in [Result.Revision].
	Revision Revision `json:"-"`
}

// Discovered reads the result of a [MethodDiscover] call.
func Discovered(r Result) (*Discovery, error) {
	d := new(Discovery)
	if err := r.Decode(d); err != nil {
		return nil, fmt.Errorf("answer to %s: %w", MethodDiscover, err)
	}
	d.Server, d.Revision = r.Server, r.Revision
	return d, nil
}
