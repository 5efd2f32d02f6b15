package mcp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// This file holds the roots feature, which the 2026 revision deprecates.

// RootsCapability is the client's capability to list its roots.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type RootsCapability struct {
	// ListChanged is set if a client of an older revision notifies the server
	// when its roots change.
	ListChanged bool `json:"listChanged,omitzero"`
}

// A Root is a directory or file that the server may use.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type Root struct {
	// URI is a file URI; see [Root.Check].
	URI  string `json:"uri"`
	Name string `json:"name,omitzero"`
	Meta Meta   `json:"_meta,omitzero"`
}

// Check returns an error if URI is not a file URI of an absolute path on this
// machine, or if the path contains "..". It does not check access.
func (r Root) Check() error {
	if !strings.HasPrefix(r.URI, "file://") {
		return fmt.Errorf("root %q is not a file:// URI", clip(r.URI))
	}
	u, err := url.Parse(r.URI)
	if err != nil || u.Path == "" {
		return fmt.Errorf("root %q is not a file URI with a path", clip(r.URI))
	}
	if u.Host != "" && u.Host != "localhost" {
		return fmt.Errorf("root %q is on another machine", clip(r.URI))
	}
	if slices.Contains(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return fmt.Errorf("root %q contains a .. element", clip(r.URI))
	}
	return nil
}

// ListRootsResult is the response to a roots request.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type ListRootsResult struct {
	Roots []Root `json:"roots"`
}

// RootsRequest returns a request for the client's roots.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func RootsRequest() InputRequest { return InputRequest{Method: MethodRootsList} }
