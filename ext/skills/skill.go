package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// ExtensionID identifies the extension in capabilities.
const ExtensionID = "io.modelcontextprotocol/skills"

// The methods of the extension.
const (
	MethodList          = "skills/list"
	MethodGet           = "skills/get"
	MethodReadDirectory = "resources/directory/read"
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// DirectoryType is the MIME type of directories.
const DirectoryType = "inode/directory"

// The limits of a skill that every client accepts.
const (
	MaxFiles = 512      // files, SKILL.md included
	MaxBytes = 16 << 20 // bytes of all files together
)

// Settings are the settings of the extension that a server declares.
type Settings struct {
	// DirectoryRead is set if the server implements [MethodReadDirectory].
	DirectoryRead bool `json:"directoryRead,omitzero"`
}

// Declared returns the settings that a server declares. It returns false if the
// server does not have the extension.
func Declared(d *mcp.Discovery) (Settings, bool) {
	var s Settings
	raw, ok := d.Capabilities.Extensions[ExtensionID]
	if !ok || !rawjson.IsObject(raw) {
		return s, false
	}
	v := rawjson.Lookup(raw, "directoryRead")
	s.DirectoryRead = string(v) == "true"
	return s, true
}

// A Skill is the entry of a skill: everything about it except for the contents
// of its files. Decoding one checks it, so that an invalid entry is an error.
type Skill struct {
	// URI is that of SKILL.md. It identifies the skill on its server.
	URI string
	// Frontmatter is the frontmatter of SKILL.md as a JSON object.
	Frontmatter json.RawMessage
	// Resources are the files of the skill, SKILL.md included. It is nil if
	// the skill is Dynamic.
	Resources []Resource
	// Dynamic is set if the contents are generated, so that they cannot be
	// verified.
	Dynamic bool
}

// A Resource is a file of a skill.
type Resource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and 64 lower-case hexadecimal digits
	Size   int64  `json:"size"`   // in bytes
}

// dynamic is the value of resources in the entry of a dynamic skill.
const dynamic = `"dynamic"`

type wireSkill struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   json.RawMessage `json:"resources"`
}

// MarshalJSON implements the interface of encoding/json.
func (s Skill) MarshalJSON() ([]byte, error) {
	w := wireSkill{s.URI, s.Frontmatter, json.RawMessage(dynamic)}
	if !s.Dynamic {
		raw, err := mcp.Marshal(s.Resources)
		if err != nil {
			return nil, err
		}
		w.Resources = raw
	}
	return mcp.Marshal(w)
}

// UnmarshalJSON implements the interface of encoding/json. It returns an error
// if the entry is invalid or exceeds [MaxFiles] or [MaxBytes].
func (s *Skill) UnmarshalJSON(data []byte) error {
	var w wireSkill
	if err := mcp.Unmarshal(data, &w); err != nil {
		return err
	}
	out := Skill{URI: w.URI, Frontmatter: w.Frontmatter}
	switch {
	case string(w.Resources) == dynamic:
		out.Dynamic = true
	case rawjson.IsArray(w.Resources):
		if err := readResources(w.Resources, &out.Resources); err != nil {
			return fmt.Errorf("skill %s: %w", rawjson.Quote(clip(w.URI)), err)
		}
	default:
		return fmt.Errorf(`skill %s: resources: expected an array or "dynamic"`, rawjson.Quote(clip(w.URI)))
	}
	if err := out.check(); err != nil {
		return fmt.Errorf("skill %s: %w", rawjson.Quote(clip(w.URI)), err)
	}
	*s = out
	return nil
}

// readResources decodes the files of an entry. Every member is required.
func readResources(raw json.RawMessage, out *[]Resource) error {
	*out = []Resource{}
	for e := rawjson.Array(raw); e.Next(); {
		if len(*out) == MaxFiles {
			return fmt.Errorf("resources: more than %d files", MaxFiles)
		}
		var r struct {
			URI    string `json:"uri"`
			Digest string `json:"digest"`
			Size   *int64 `json:"size"`
		}
		if err := mcp.Unmarshal(e.Value, &r); err != nil {
			return fmt.Errorf("resources[%d]: %w", len(*out), err)
		}
		if r.Size == nil {
			return fmt.Errorf("resources[%d]: size: missing", len(*out))
		}
		*out = append(*out, Resource{r.URI, r.Digest, *r.Size})
	}
	return nil
}

// Name returns the name of the skill. It is a label: several skills may have the
// same one.
func (s *Skill) Name() string { return s.text("name") }

// Description returns what the skill is for.
func (s *Skill) Description() string { return s.text("description") }

func (s *Skill) text(field string) string {
	v, _ := rawjson.String(rawjson.Lookup(s.Frontmatter, field))
	return v
}

// Dir returns the URI of the skill's folder, without a slash at the end.
func (s *Skill) Dir() string { return strings.TrimSuffix(s.URI, "/"+FileName) }

// Find returns the file with a URI; nil if the entry does not list it.
func (s *Skill) Find(uri string) *Resource {
	for i := range s.Resources {
		if s.Resources[i].URI == uri {
			return &s.Resources[i]
		}
	}
	return nil
}

// Same reports whether two entries have the same files with the same digests. A
// dynamic skill is never the same as another. An approval of one entry does not
// count for another one that is not the same.
func (s *Skill) Same(other *Skill) bool {
	if s.URI != other.URI || s.Dynamic || other.Dynamic || len(s.Resources) != len(other.Resources) {
		return false
	}
	for _, r := range s.Resources {
		if o := other.Find(r.URI); o == nil || o.Digest != r.Digest {
			return false
		}
	}
	return true
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// checkName returns an error if a skill may not have a name.
func checkName(name string) error {
	if len(name) > 64 || !nameForm().MatchString(name) {
		return fmt.Errorf("the name %s must have 1 to 64 lower-case letters, digits and single hyphens between them", rawjson.Quote(clip(name)))
	}
	return nil
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// check returns an error if the entry is invalid.
func (s *Skill) check() error {
	if err := checkURI(s.URI); err != nil {
		return err
	}
	if !strings.HasSuffix(s.URI, "/"+FileName) {
		return fmt.Errorf("uri: must end with /%s", FileName)
	}
	if !rawjson.IsObject(s.Frontmatter) {
		return errors.New("frontmatter: expected an object")
	}
	if err := checkName(s.Name()); err != nil {
		return fmt.Errorf("frontmatter: %w", err)
	}
	if s.Description() == "" {
		return errors.New("frontmatter: description: missing or not a string")
	}
	if dir := s.Dir(); dir[strings.LastIndexByte(dir, '/')+1:] != s.Name() {
		return fmt.Errorf("the folder in the URI must have the name of the skill, %q", s.Name())
	}
	if s.Dynamic {
		return nil
	}
	return s.checkResources()
}

func (s *Skill) checkResources() error {
	var total int64
	seen := map[string]bool{}
	for _, r := range s.Resources {
		switch err := checkURI(r.URI); {
		case err != nil:
			return fmt.Errorf("resources: %s: %w", rawjson.Quote(clip(r.URI)), err)
		case !strings.HasPrefix(r.URI, s.Dir()+"/"):
			return fmt.Errorf("resources: %s is outside the folder of the skill", rawjson.Quote(clip(r.URI)))
		case seen[r.URI]:
			return fmt.Errorf("resources: %s is listed twice", rawjson.Quote(clip(r.URI)))
		case !digestForm().MatchString(r.Digest):
			return fmt.Errorf("resources: %s: the digest must be sha256: and 64 lower-case hexadecimal digits", rawjson.Quote(clip(r.URI)))
		case r.Size < 0:
			return fmt.Errorf("resources: %s: the size is negative", rawjson.Quote(clip(r.URI)))
		case r.Size > MaxBytes-total:
			return fmt.Errorf("resources: more than %d MiB in all", MaxBytes>>20)
		}
		seen[r.URI] = true
		total += r.Size
	}
	if !seen[s.URI] {
		return fmt.Errorf("resources: %s itself is missing", FileName)
	}
	return nil
}

// maxURI bounds the length of a URI in bytes.
const maxURI = 4096

var schemeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`) })

// checkURI returns an error if a URI could be read as another one: URIs of skills
// are compared byte by byte and never normalized, so nothing in one may need
// that.
func checkURI(uri string) error {
	scheme, rest, ok := strings.Cut(uri, "://")
	switch {
	case len(uri) > maxURI:
		return fmt.Errorf("the URI has more than %d bytes", maxURI)
	case !ok || !schemeForm().MatchString(scheme):
		return errors.New("the URI has no scheme (such as skill://)")
	case strings.ContainsAny(rest, "?#"):
		return errors.New("the URI must not have a query or a fragment")
	}
	for i, segment := range strings.Split(rest, "/") {
		if i > 0 || segment != "" { // the authority may be empty, as in file:///
			if err := checkSegment(segment); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSegment(segment string) error {
	plain, err := url.PathUnescape(segment)
	switch {
	case err != nil:
		return errors.New("the URI has an invalid percent-encoding")
	case plain == "":
		return errors.New("the URI has an empty path segment")
	case plain == "." || plain == "..":
		return errors.New("the URI has a path segment that names another folder")
	case strings.ContainsAny(plain, `/\`) || !utf8.ValidString(plain) || strings.ContainsFunc(plain, unicode.IsControl):
		return errors.New("the URI has a slash, a backslash, a control character or invalid UTF-8 in a path segment")
	case strings.ContainsFunc(segment, unicode.IsSpace):
		return errors.New("the URI has a space")
	}
	return nil
}

// escaped returns a path as it is written in a URI.
func escaped(path string) string {
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// digest returns the digest of the contents of a file.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// clip shortens a text from a peer for an error.
func clip(s string) string { return textclip.Clip(s, 200) }

func init() {
	mcp.RegisterExtension(mcp.Extension{ID: ExtensionID, Names: []mcp.NameRule{
		{Method: MethodList, In: mcp.InResult, Path: "skills[].uri", Kind: "uri"},
		{Method: MethodList, In: mcp.InResult, Path: "skills[].resources[].uri", Kind: "uri"},
		{Method: MethodGet, In: mcp.InParams, Path: "uri", Kind: "uri"},
		{Method: MethodGet, In: mcp.InResult, Path: "skill.uri", Kind: "uri"},
		{Method: MethodGet, In: mcp.InResult, Path: "skill.resources[].uri", Kind: "uri"},
		{Method: MethodReadDirectory, In: mcp.InParams, Path: "uri", Kind: "uri"},
		{Method: MethodReadDirectory, In: mcp.InResult, Path: "resources[].uri", Kind: "uri"},
	}})
}
