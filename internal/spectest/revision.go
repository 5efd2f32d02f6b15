package spectest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/uritemplate"
	"github.com/tenon-mcp/tenon/mcp"
)

// A revision is the schema of one revision and what can be read off it.
type revision struct {
	name mcp.Revision
	// pointer leads from the top of the schema to its definitions.
	pointer string
	defs    map[string]any

	// Which definition belongs to a method, for each direction.
	requests      [2]map[string]string
	notifications [2]map[string]string
	// methods are all methods of the revision, including those of definitions
	// that are only parts of messages, such as an input request.
	methods map[string]string

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

const schemaURL = "mcp://schema"

// uriTemplate replaces the check of the validator library, which rejects the
// operators of RFC 6570, such as {/path}.
var uriTemplate = jsonschema.Format{Name: "uri-template", Validate: func(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := uritemplate.Parse(s)
	return err
}}

func loadRevision(name mcp.Revision, file string) (*revision, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	top, _ := doc.(map[string]any)
	r := &revision{name: name, methods: make(map[string]string), compiled: make(map[string]*jsonschema.Schema)}
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := top[key].(map[string]any); ok {
			r.pointer, r.defs = "#/"+key+"/", defs
			break
		}
	}
	if r.defs == nil {
		return nil, fmt.Errorf("schema of %s has no definitions", name)
	}
	for def := range r.defs {
		if m := r.methodOf(def); m != "" {
			r.methods[m] = def
		}
	}
	for dir, side := range []string{FromClient: "Client", FromServer: "Server"} {
		r.requests[dir] = r.members(side + "Request")
		r.notifications[dir] = r.members(side + "Notification")
	}
	r.compiler = jsonschema.NewCompiler()
	r.compiler.AssertFormat()
	r.compiler.RegisterFormat(&uriTemplate)
	return r, r.compiler.AddResource(schemaURL, doc)
}

// methodOf is the method that a definition is about, or empty.
func (r *revision) methodOf(def string) string {
	method, _ := dig(r.defs[def], "properties", "method", "const").(string)
	return method
}

// members are the definitions in a union, by their methods. A union of one is
// written as a mere reference.
func (r *revision) members(union string) map[string]string {
	out := make(map[string]string)
	refs, ok := dig(r.defs[union], "anyOf").([]any)
	if !ok {
		refs = []any{r.defs[union]}
	}
	for _, ref := range refs {
		target, _ := dig(ref, "$ref").(string)
		def := strings.TrimPrefix(target, r.pointer)
		if m := r.methodOf(def); m != "" {
			out[m] = def
		}
	}
	if m := r.methodOf(union); m != "" {
		out[m] = union
	}
	return out
}

func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// resultOf is the definition of the result of a request.
func (r *revision) resultOf(method string) string {
	base, ok := strings.CutSuffix(r.methods[method], "Request")
	if !ok {
		return "Result"
	}
	if _, ok := r.defs[base+"Result"]; ok {
		return base + "Result"
	}
	return "EmptyResult"
}

// first returns the first definition that the revision has.
func (r *revision) first(defs ...string) string {
	for _, def := range defs {
		if _, ok := r.defs[def]; ok {
			return def
		}
	}
	return ""
}

// check holds a decoded value against a definition.
func (r *revision) check(def string, value any) error {
	schema, err := r.schema(def)
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		if bad, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			return fmt.Errorf("not a %s of %s: %s", def, r.name, leaves(bad))
		}
		return err
	}
	return nil
}

func (r *revision) schema(def string) (*jsonschema.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.compiled[def]; s != nil {
		return s, nil
	}
	if _, ok := r.defs[def]; !ok {
		return nil, fmt.Errorf("revision %s has no definition %q", r.name, def)
	}
	s, err := r.compiler.Compile(schemaURL + r.pointer + def)
	if err != nil {
		return nil, fmt.Errorf("definition %s of %s: %w", def, r.name, err)
	}
	r.compiled[def] = s
	return s, nil
}

// leaves writes down the innermost reasons of a failed validation, each with
// its place in the value.
func leaves(e *jsonschema.ValidationError) string {
	if len(e.Causes) == 0 {
		return "/" + strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind.LocalizedString(english)
	}
	var out []string
	for _, c := range e.Causes {
		out = append(out, leaves(c))
	}
	return strings.Join(out, "; ")
}
