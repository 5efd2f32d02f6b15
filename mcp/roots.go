package mcp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// This file holds the roots feature, which the 2026 revision deprecates.

// RootsCapability is the client's ability to list its roots.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type RootsCapability struct {
	// ListChanged is set when a client of an older revision announces
	// changes of its roots.
	ListChanged bool `json:"listChanged,omitzero"`
}

// A Root is a directory or file that the client opens to the server.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type Root struct {
	// URI is a file URI; see [Root.Check].
	URI  string `json:"uri"`
	Name string `json:"name,omitzero"`
	Meta Meta   `json:"_meta,omitzero"`
}

// Check reports why the root cannot be used: its URI is not a file URI with a
// path on this machine, or the path climbs with "..". It says nothing about
// whether the path may be opened.
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
		return fmt.Errorf("root %q climbs out of its own path", clip(r.URI))
	}
	return nil
}

// ListRootsResult is the answer to a roots question.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
type ListRootsResult struct {
	Roots []Root `json:"roots"`
}

// RootsRequest makes the question for the client's roots.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func RootsRequest() InputRequest { return InputRequest{Method: MethodRootsList} }
