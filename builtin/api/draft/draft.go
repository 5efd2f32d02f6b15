// Package draft writes a first file for package api from an OpenAPI 3.0 or 3.1
// description. The file is small on purpose: a model chooses badly among hundreds
// of tools, so the operations that matter most become tools, and the others are
// listed with the reason why they were left out.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxTools is the maximum number of tools in a file.
const MaxTools = 25

// Options choose what becomes a tool.
type Options struct {
	// Max is the number of tools; 0 means MaxTools, which is also the maximum.
	Max int

	// Operations are ids of operations, "METHOD /path", or patterns of
	// [path.Match] for either. If there are any, only these become tools.
	Operations []string

	// Tags are the tags from which operations are chosen; empty means all.
	Tags []string

	// ReadOnly leaves out operations that change something.
	ReadOnly bool

	// Name is the name of the server; empty means one made from the title.
	Name string

	// Base is the base URL; empty means the first server of the description.
	Base string
}

// A LeftOut is an operation that did not become a tool.
type LeftOut struct {
	Operation string // its id, or the method and the path
	Tag       string
	Reason    string
}

// A Result is a drafted file.
type Result struct {
	File       []byte
	Operations int // in the description
	Tools      []string
	LeftOut    []LeftOut
	Notes      []string // what the reader should check
}

// A Description is an OpenAPI description.
type Description struct{ doc *document }

// Read reads a description, JSON or YAML.
func Read(data []byte) (*Description, error) {
	d, err := read(data)
	if err != nil {
		return nil, err
	}
	return &Description{d}, nil
}

// Draft reads a description and returns a file for package api.
func Draft(description []byte, o Options) (*Result, error) {
	d, err := Read(description)
	if err != nil {
		return nil, err
	}
	return d.Draft(o)
}

// Draft returns a file for package api.
func (d *Description) Draft(o Options) (*Result, error) {
	if o.Max < 0 || o.Max > MaxTools {
		return nil, fmt.Errorf("at most %d tools fit into a file: a model chooses badly among more", MaxTools)
	}
	o.Max = cmp.Or(o.Max, MaxTools)
	all := d.doc.operations()
	if len(all) == 0 {
		return nil, errors.New("the description has no operations (paths is empty)")
	}
	chosen, left, err := choose(d.doc, all, o)
	if err != nil {
		return nil, err
	}
	w := &writer{doc: d.doc, options: o}
	file, left, err := w.write(chosen, left)
	if err != nil {
		return nil, err
	}
	return &Result{File: file, Operations: len(all), Tools: w.names, LeftOut: left, Notes: w.notes}, nil
}

// choose returns the operations that become tools in the order of their tags,
// and those that do not.
func choose(d *document, all []*operation, o Options) (chosen []*operation, left []LeftOut, err error) {
	leave := func(op *operation, reason string) {
		left = append(left, LeftOut{Operation: op.label(), Tag: op.tag, Reason: reason})
	}
	if len(o.Operations) > 0 {
		if chosen, err = named(all, o.Operations); err != nil {
			return nil, nil, err
		}
		if len(chosen) > o.Max {
			return nil, nil, fmt.Errorf("%d operations match, and at most %d become tools; name fewer", len(chosen), o.Max)
		}
		for _, op := range all {
			if !slices.Contains(chosen, op) {
				leave(op, "not named by --op")
			}
		}
		return chosen, left, nil
	}
	if err := knownTags(all, o.Tags); err != nil {
		return nil, nil, err
	}
	var open []*operation
	for _, op := range all {
		if reason := op.unfit(o); reason != "" {
			leave(op, reason)
			continue
		}
		open = append(open, op)
	}
	chosen = pick(d, open, o.Max)
	for _, op := range open {
		if !slices.Contains(chosen, op) {
			leave(op, fmt.Sprintf("ranked below the first %d", o.Max))
		}
	}
	return chosen, left, nil
}

// named returns the operations that patterns name, in the order of the patterns.
func named(all []*operation, patterns []string) (found []*operation, err error) {
	for _, p := range patterns {
		before := len(found)
		for _, op := range all {
			if (match(p, op.id) || match(p, op.method+" "+op.path) || p == op.name) && !slices.Contains(found, op) {
				found = append(found, op)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("no operation is named %q; use an operationId, or a method and a path such as \"GET /pets\"", p)
		}
	}
	return found, nil
}

func match(pattern, s string) bool {
	if s == "" {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(s, "/", "\x01"))
	return pattern == s || err == nil && ok
}

func knownTags(all []*operation, tags []string) error {
	for _, tag := range tags {
		if !slices.ContainsFunc(all, func(op *operation) bool { return op.tag == tag }) {
			var known []string
			for _, op := range all {
				if op.tag != "" && !slices.Contains(known, op.tag) {
					known = append(known, op.tag)
				}
			}
			return fmt.Errorf("no operation has the tag %q; there are %s", tag, strings.Join(known, ", "))
		}
	}
	return nil
}
