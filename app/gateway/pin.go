package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tenon-mcp/tenon/internal/definition"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// The kinds of definitions that are pinned.
const (
	PinTool         = protocol.KindTool
	PinPrompt       = protocol.KindPrompt
	PinTemplate     = protocol.KindTemplate // a resource template; its name is the URI template
	PinInstructions = "instructions"        // the instructions of the server; they have no name
)

// A Pin is what is known about one definition of a server.
type Pin struct {
	Server string `json:"server"`
	Kind   string `json:"kind"` // one of the Pin constants
	Name   string `json:"name,omitzero"`
	// Variant says that this is a further definition with the same name: those of
	// users with connections of their own may differ, see [Pins.GuardEach]. It has
	// one definition, approved or held.
	Variant bool `json:"variant,omitzero"`
	// Approved is the definition that clients get; nil means that none is approved.
	Approved *Definition `json:"approved,omitzero"`
	// Held is the definition that the server has instead and that waits for
	// approval; nil means that none does.
	Held *Definition `json:"held,omitzero"`

	base *Definition // of a Variant: the approved definition that is not one
}

// A Definition is the definition of a tool, prompt or resource template, without
// its name, its icons, its _meta and what it says about tasks, or the
// instructions of a server.
type Definition struct {
	// Digest is the SHA-256 digest of the canonical form of Definition.
	Digest string `json:"digest"`
	// Definition is a JSON value.
	Definition json.RawMessage `json:"definition"`
}

// String returns the name of a pin for people: server/kind/name.
func (p Pin) String() string {
	return strings.TrimSuffix(p.Server+"/"+p.Kind+"/"+p.Name, "/")
}

// Changes lists the differences between the approved and the held definition, or
// those of a held Variant to the approved definition that is not one. It is empty
// if one of them is missing.
func (p Pin) Changes() []definition.Change {
	before := p.Approved
	if before == nil {
		before = p.base
	}
	if before == nil || p.Held == nil {
		return nil
	}
	return definition.Compare(before.Definition, p.Held.Definition)
}

// Warnings describes suspicious parts of the definition that the server has:
// invisible characters, characters that change the direction of text, and orders
// to a model.
func (p Pin) Warnings() []string {
	d := p.Held
	if d == nil {
		d = p.Approved
	}
	if d == nil {
		return nil
	}
	return warnings(p.Name, d.Definition)
}

// warnings describes suspicious parts of a definition in canonical form.
func warnings(name string, raw json.RawMessage) []string {
	var found []string
	look := func(where string, text string) {
		for _, what := range definition.Suspect(text) {
			found = append(found, "the "+where+": "+what)
		}
	}
	look("name", name)
	if text, ok := rawjson.String(raw); ok {
		look("text", text)
	}
	for m := rawjson.Object(raw); m.Next(); {
		text, ok := rawjson.String(m.Value)
		if !ok {
			text = string(m.Value)
		}
		look(string(m.Name), text)
	}
	return found
}

// newDefinition returns the definition of an element of a list, or of any other
// JSON value.
func newDefinition(value []byte) Definition {
	if rawjson.IsObject(value) {
		value = rawjson.Cut(value, func(name, _ []byte) bool {
			switch string(name) {
			case "name", "uriTemplate", "icons", "_meta", "execution":
				return true
			}
			return false
		})
	}
	raw := rawjson.AppendCanonical(nil, value)
	return Definition{Digest: digest(raw), Definition: raw}
}

func digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A pinKey identifies a pin. The variant is the digest of a Variant, and empty for
// other pins.
type pinKey struct{ server, kind, name, variant string }

func (p *Pin) key() pinKey {
	k := pinKey{p.Server, p.Kind, p.Name, ""}
	switch {
	case p.Variant && p.Approved != nil:
		k.variant = p.Approved.Digest
	case p.Variant:
		k.variant = p.Held.Digest
	}
	return k
}

// plain returns the key of the pin that is not a Variant.
func (k pinKey) plain() pinKey { return pinKey{k.server, k.kind, k.name, ""} }

// is reports whether d has a digest.
func (d *Definition) is(digest string) bool { return d != nil && d.Digest == digest }

// maxPinned is the size of the definitions of one server that are kept, in bytes.
// A server that has more must not fill the file.
const maxPinned = 8 << 20

// pinSet is a set of pins. Its Pins are never modified, only replaced.
type pinSet struct {
	pins     map[pinKey]Pin
	variants map[pinKey]int // number of Variants by the plain key
	bytes    map[string]int // size of the definitions by server
}

func newPinSet() *pinSet {
	return &pinSet{pins: map[pinKey]Pin{}, variants: map[pinKey]int{}, bytes: map[string]int{}}
}

func (s *pinSet) clone() *pinSet {
	return &pinSet{pins: maps.Clone(s.pins), variants: maps.Clone(s.variants), bytes: maps.Clone(s.bytes)}
}

// get returns a pin with what a Variant differs from.
func (s *pinSet) get(k pinKey) Pin {
	p := s.pins[k]
	if p.Variant {
		p.base = s.pins[k.plain()].Approved
	}
	return p
}

// put adds or replaces a pin.
func (s *pinSet) put(p Pin) {
	k := p.key()
	s.remove(k)
	s.pins[k] = p
	s.bytes[p.Server] += p.size()
	if p.Variant {
		s.variants[k.plain()]++
	}
}

func (s *pinSet) remove(k pinKey) {
	old, ok := s.pins[k]
	if !ok {
		return
	}
	s.bytes[k.server] -= old.size()
	delete(s.pins, k)
	if old.Variant {
		if s.variants[k.plain()]--; s.variants[k.plain()] == 0 {
			delete(s.variants, k.plain())
		}
	}
}

func (p Pin) size() int {
	n := 100 + len(p.Name) // with the digests and the rest
	for _, d := range []*Definition{p.Approved, p.Held} {
		if d != nil {
			n += len(d.Definition)
		}
	}
	return n
}

// sorted returns the pins in the order of the file.
func (s *pinSet) sorted() []Pin {
	keys := slices.SortedFunc(maps.Keys(s.pins), func(a, b pinKey) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name), strings.Compare(a.variant, b.variant))
	})
	var all []Pin
	for _, k := range keys {
		all = append(all, s.get(k))
	}
	return all
}

// A sight is the result of seeing a definition.
type sight int

const (
	sightApproved sight = iota // it is the approved one
	sightHeld                  // it waits for approval
	sightTooMany               // the server has too many definitions
)

// see records that a server has a definition. holdNew says what happens to one
// that was never seen. Seeing the same definition again changes nothing.
func (s *pinSet) see(k pinKey, d Definition, holdNew bool) (found sight, changed bool) {
	p, known := s.pins[k]
	if !known {
		p = Pin{Server: k.server, Kind: k.kind, Name: k.name}
	}
	switch {
	case p.Approved != nil && p.Approved.Digest == d.Digest:
		if changed = p.Held != nil; changed {
			p.Held = nil
			s.put(p)
		}
		return sightApproved, changed
	case p.Held != nil && p.Held.Digest == d.Digest:
		return sightHeld, false
	case s.bytes[k.server]+len(d.Definition) > maxPinned:
		return sightTooMany, false
	case known || holdNew:
		p.Held = &d
		found = sightHeld
	default:
		p.Approved = &d
	}
	s.put(p)
	return found, true
}

// seeVariant is like see for one of several connections whose definitions may
// differ: what is not approved becomes a Variant of its own and changes nothing
// about the others. It returns the key of the pin.
func (s *pinSet) seeVariant(k pinKey, d Definition, holdNew bool) (at pinKey, found sight, changed bool) {
	p, known := s.pins[k]
	if !known && s.variants[k] == 0 {
		found, changed = s.see(k, d, holdNew)
		return k, found, changed
	}
	if p.Approved.is(d.Digest) {
		return k, sightApproved, false
	}
	if p.Held.is(d.Digest) {
		return k, sightHeld, false
	}
	at = k
	at.variant = d.Digest
	v, known := s.pins[at]
	switch {
	case known && v.Approved != nil:
		return at, sightApproved, false
	case known:
		return at, sightHeld, false
	case s.bytes[k.server]+len(d.Definition) > maxPinned:
		return at, sightTooMany, false
	}
	s.put(Pin{Server: k.server, Kind: k.kind, Name: k.name, Variant: true, Held: &d})
	return at, sightHeld, true
}

// An unsavedPin is a pin that has changed because of a definition that was seen.
type unsavedPin struct {
	pin  Pin
	seen Definition // the last one
}

// merge adds what another set of pins has seen. What this set knows about a pin
// counts.
func (s *pinSet) merge(unsaved map[pinKey]unsavedPin) {
	for k, u := range unsaved {
		_, known := s.pins[k]
		switch {
		case !known:
			s.put(u.pin)
		case !u.pin.Variant:
			s.see(k, u.seen, true)
		}
	}
}

// parsePins reads the content of a file of pins; nil data has none.
func parsePins(data []byte) (*pinSet, error) {
	s := newPinSet()
	if data == nil {
		return s, nil
	}
	var file struct {
		Pins []Pin `json:"pins"`
	}
	if err := mcp.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	for _, p := range file.Pins {
		switch p.Kind {
		case PinTool, PinPrompt, PinTemplate, PinInstructions:
		default:
			return nil, fmt.Errorf("%s: unknown kind %q", p, p.Kind)
		}
		if p.Approved == nil && p.Held == nil {
			return nil, fmt.Errorf("%s has neither an approved definition nor one that is held back", p)
		}
		if p.Variant && p.Approved != nil && p.Held != nil {
			return nil, fmt.Errorf("%s: a variant has two definitions", p)
		}
		for _, d := range []*Definition{p.Approved, p.Held} {
			if err := d.check(); err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
		}
		if _, twice := s.pins[p.key()]; twice {
			return nil, fmt.Errorf("%s is there twice", p)
		}
		s.put(p)
	}
	return s, nil
}

// errDigest is the error for a definition that was edited.
var errDigest = errors.New("the digest is not that of the definition: somebody has changed one of them")

// check brings a definition of a file into canonical form and checks its digest.
func (d *Definition) check() error {
	if d == nil {
		return nil
	}
	d.Definition = rawjson.AppendCanonical(nil, d.Definition)
	if digest(d.Definition) != d.Digest {
		return errDigest
	}
	return nil
}

// encode returns the content of the file: sorted and indented, so that a
// difference of two versions can be reviewed, with characters that cannot be seen
// written as escapes.
func (s *pinSet) encode() ([]byte, error) {
	pins := s.sorted()
	if pins == nil {
		pins = []Pin{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string][]Pin{"pins": pins}); err != nil {
		return nil, err
	}
	return escapeUnseen(b.Bytes()), nil
}

// escapeUnseen writes the characters of JSON that cannot be seen as \u escapes.
// They occur in strings only.
func escapeUnseen(raw []byte) []byte {
	unseen := func(r rune) bool {
		return r >= 0x7f && (!unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r))
	}
	if bytes.IndexFunc(raw, unseen) < 0 {
		return raw
	}
	var out []byte
	for _, r := range string(raw) {
		switch {
		case !unseen(r):
			out = append(out, string(r)...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
