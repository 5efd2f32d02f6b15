package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// List iterates over the skills that a server lists, like [client.Client.Tools]:
// it leaves out invalid entries, with a warning that says why. It reads no file.
// A server may have skills that it does not list; see [Get].
//
// Call it only if the server declares the extension; see [Declared].
func List(ctx context.Context, c *client.Client) iter.Seq2[*Skill, error] {
	return client.List(ctx, c, MethodList, nil, "skills", func(s *Skill) string { return s.URI })
}

// Get returns the current entry of a skill by the URI of its SKILL.md, whether
// the server lists the skill or not. It does not use a cached entry.
func Get(ctx context.Context, c *client.Client, uri string) (*Skill, error) {
	res, err := c.Do(ctx, MethodGet, map[string]string{"uri": uri}, &client.CallOptions{Fresh: true})
	if err != nil {
		return nil, err
	}
	var out struct {
		Skill json.RawMessage `json:"skill"`
	}
	s := new(Skill)
	if err := res.Decode(&out); err != nil {
		return nil, invalid("%v", err)
	}
	if !rawjson.IsObject(out.Skill) {
		return nil, invalid("skill: missing")
	}
	if err := mcp.Unmarshal(out.Skill, s); err != nil {
		return nil, invalid("%v", err)
	}
	if s.URI != uri {
		return nil, invalid("the server returned the skill %s instead of %s", rawjson.Quote(clip(s.URI)), rawjson.Quote(clip(uri)))
	}
	return s, nil
}

// invalid returns the error for an invalid result of skills/get.
func invalid(format string, args ...any) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "invalid result of " + MethodGet + ": " + fmt.Sprintf(format, args...)}
}

// ReadDirectory iterates over the files and folders in a folder, by its URI
// without a slash at the end. A folder has the MIME type [DirectoryType]. Call it
// only if the server declares [Settings.DirectoryRead].
//
// The list is what the server has now. It does not add files to a loaded skill.
func ReadDirectory(ctx context.Context, c *client.Client, uri string) iter.Seq2[*mcp.Resource, error] {
	return client.List(ctx, c, MethodReadDirectory, map[string]string{"uri": uri}, "resources", func(r *mcp.Resource) string { return r.URI })
}

// A Reason says why a verification failed.
type Reason string

// The reasons.
const (
	Unlisted           Reason = "unlisted"    // the entry does not list the file
	WrongSize          Reason = "size"        // the file does not have the size in the entry
	WrongDigest        Reason = "digest"      // the file does not have the digest in the entry
	WrongFrontmatter   Reason = "frontmatter" // the frontmatter of SKILL.md differs from the entry
	TooLarge           Reason = "limit"       // the files of a dynamic skill exceed MaxBytes
	UnexpectedContents Reason = "contents"    // the server did not return one file
)

// A VerificationError says that a file is not what the entry of its skill says.
// The file must not be used, and if it is SKILL.md, the skill must not be
// loaded. The skill may have changed: [Get] returns its current entry, which a
// user who approved the old one has to approve again.
type VerificationError struct {
	URI    string // of the file
	Reason Reason
	text   string
}

func (e *VerificationError) Error() string {
	return fmt.Sprintf("verify %s: %s", rawjson.Quote(clip(e.URI)), e.text)
}

func failed(uri string, why Reason, format string, args ...any) error {
	return &VerificationError{uri, why, fmt.Sprintf(format, args...)}
}

// A Loaded is a skill whose SKILL.md was read and verified. It holds the entry
// that the skill was loaded from: as long as the skill is in use, only files of
// this entry are read. It is safe for concurrent use.
type Loaded struct {
	client *client.Client
	skill  Skill
	text   string
	bytes  atomic.Int64 // read so far, of a dynamic skill
}

// Load reads the SKILL.md of a skill and verifies it: its size, digest and
// frontmatter must be those of the entry. It reads no other file. The error is a
// [*VerificationError] if they differ. A dynamic skill has only its frontmatter
// verified.
func Load(ctx context.Context, c *client.Client, s *Skill) (*Loaded, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("load skill %s: %w", rawjson.Quote(clip(s.URI)), err)
	}
	l := &Loaded{client: c, skill: *s}
	contents, err := l.Read(ctx, s.URI)
	if err != nil {
		return nil, err
	}
	if contents.Blob != nil {
		return nil, failed(s.URI, UnexpectedContents, "the server returned binary data instead of text")
	}
	l.text = contents.Text
	return l, nil
}

// Resume returns a skill that was loaded before, such as in an earlier process,
// from the same entry. It reads nothing, and Text returns an empty string.
func Resume(c *client.Client, s *Skill) *Loaded { return &Loaded{client: c, skill: *s} }

// Skill returns the entry that the skill was loaded from.
func (l *Loaded) Skill() *Skill {
	s := l.skill
	return &s
}

// Text returns the contents of SKILL.md, including the frontmatter.
func (l *Loaded) Text() string { return l.text }

// Resolve returns the URI of a file of the skill, from a path relative to the
// folder of SKILL.md, as SKILL.md refers to files, or from its URI. A section
// after # is ignored. Resolve does not check that the file exists.
func (l *Loaded) Resolve(ref string) (string, error) {
	if strings.Contains(ref, "://") {
		return ref, nil
	}
	ref = strings.TrimPrefix(ref, "./")
	uri := l.skill.Dir() + "/" + ref
	if l.skill.Find(uri) == nil { // spelled as a path
		uri = l.skill.Dir() + "/" + escaped(ref)
	}
	if file, _, ok := strings.Cut(ref, "#"); ok && l.skill.Find(uri) == nil { // a section of a file
		return l.Resolve(file)
	}
	if err := checkURI(uri); err != nil {
		return "", failed(ref, Unlisted, "%v", err)
	}
	return uri, nil
}

// Read reads a file of the skill by its URI and verifies it. A file that the
// entry does not list is not read; that is a [*VerificationError], too.
func (l *Loaded) Read(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	entry := l.skill.Find(uri)
	if l.skill.Dynamic {
		if err := checkURI(uri); err != nil || !strings.HasPrefix(uri, l.skill.Dir()+"/") {
			return nil, failed(uri, Unlisted, "the file is not in the folder of the skill")
		}
	} else if entry == nil {
		return nil, failed(uri, Unlisted, "the skill does not list this file")
	}
	contents, err := l.fetch(ctx, uri, entry, false)
	if _, changed := errors.AsType[*VerificationError](err); changed {
		contents, err = l.fetch(ctx, uri, entry, true) // the cached one may be of an older entry
	}
	return contents, err
}

// fetch reads a file and verifies it. If fresh, it does not use the cache.
func (l *Loaded) fetch(ctx context.Context, uri string, entry *Resource, fresh bool) (*mcp.ResourceContents, error) {
	res, err := l.client.Do(ctx, mcp.MethodResourcesRead, map[string]string{"uri": uri}, &client.CallOptions{Fresh: fresh})
	if err != nil {
		return nil, err
	}
	var out mcp.ReadResourceResult
	if err := res.Decode(&out); err != nil {
		return nil, failed(uri, UnexpectedContents, "invalid result of %s: %v", mcp.MethodResourcesRead, err)
	}
	if len(out.Contents) != 1 {
		return nil, failed(uri, UnexpectedContents, "the server returned %d files instead of one", len(out.Contents))
	}
	contents := &out.Contents[0]
	data := contents.Blob
	if data == nil {
		data = []byte(contents.Text)
	}
	switch {
	case entry == nil:
		if l.bytes.Add(int64(len(data))) > MaxBytes {
			return nil, failed(uri, TooLarge, "the files read so far have more than %d MiB", MaxBytes>>20)
		}
	case int64(len(data)) != entry.Size:
		return nil, failed(uri, WrongSize, "the file has %d bytes, the skill lists it with %d", len(data), entry.Size)
	case digest(data) != entry.Digest:
		return nil, failed(uri, WrongDigest, "the file is not the one that the skill lists: its digest differs")
	}
	if uri == l.skill.URI {
		if err := l.checkFrontmatter(data); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// checkFrontmatter compares the frontmatter of SKILL.md with the entry.
func (l *Loaded) checkFrontmatter(data []byte) error {
	fields, err := parseFrontmatter(data)
	if err != nil {
		return failed(l.skill.URI, WrongFrontmatter, "%v", err)
	}
	if names := differences(fields, l.skill.Frontmatter); len(names) > 0 {
		for i, name := range names {
			names[i] = rawjson.Quote(clip(name))
		}
		return failed(l.skill.URI, WrongFrontmatter, "the frontmatter differs from what the server lists: %s", strings.Join(names, ", "))
	}
	return nil
}
