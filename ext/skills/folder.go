package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// maxEntries bounds the files and folders below the folder of the skills.
const maxEntries = 100_000

// The lengths of the longest description and compatibility, in characters.
const (
	maxDescription   = 1024
	maxCompatibility = 500
)

// A file is a file of a skill.
type file struct {
	path string // from the root of the file system
	uri  string
	mime string
	data []byte
	text bool // data is text
}

// A folder is a skill and its files.
type folder struct {
	path  string // from the root of the file system
	skill Skill
	files []*file // sorted by path
}

// A reader finds the skills of a file system. It collects all problems, so that
// they can be fixed at once.
type reader struct {
	root     fs.FS
	files    map[string]*file // by path
	skills   []string         // the paths of the folders that have a SKILL.md
	entries  int
	problems []error
}

// readFolders reads every skill of a file system, sorted by URI. It returns an
// error that names each bad folder and what to do about it.
func readFolders(root fs.FS) ([]*folder, error) {
	r := &reader{root: root, files: map[string]*file{}}
	if err := fs.WalkDir(root, ".", r.visit); err != nil {
		return nil, fmt.Errorf("read skills: %w", err)
	}
	var all []*folder
	for _, dir := range r.skills {
		f, err := r.folder(dir)
		if err != nil {
			r.problem(dir, err)
			continue
		}
		all = append(all, f)
	}
	if len(r.problems) > 0 {
		return nil, fmt.Errorf("read skills: %w", errors.Join(r.problems...))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read skills: there is no folder with a file %s", FileName)
	}
	slices.SortFunc(all, func(a, b *folder) int { return strings.Compare(a.skill.URI, b.skill.URI) })
	return all, nil
}

func (r *reader) problem(where string, err error) {
	r.problems = append(r.problems, fmt.Errorf("%s: %w", where, err))
}

// visit looks at a file or folder. Names that begin with a dot are left out, as
// package embed does.
func (r *reader) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if r.entries++; r.entries > maxEntries {
		return fmt.Errorf("more than %d files: choose the folder that has the skills", maxEntries)
	}
	switch base := path.Base(name); {
	case name != "." && strings.HasPrefix(base, "."):
		if d.IsDir() {
			return fs.SkipDir
		}
	case d.IsDir():
	case base == FileName && path.Dir(name) == ".":
		r.problem(name, errors.New("move it into a folder that has the name of the skill"))
	case base == FileName:
		r.skills = append(r.skills, path.Dir(name))
		fallthrough
	default:
		if base != FileName && strings.EqualFold(base, FileName) {
			r.problem(name, fmt.Errorf("rename it to %s", FileName))
		}
		r.files[name] = &file{path: name}
		if !d.Type().IsRegular() {
			r.files[name].mime = irregular
		}
	}
	return nil
}

// irregular marks a file that is not a regular one.
const irregular = "irregular"

var prefixForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$`) })

// folder reads the skill in a folder.
func (r *reader) folder(dir string) (*folder, error) {
	for _, segment := range strings.Split(path.Dir(dir), "/") {
		if segment != "." && !prefixForm().MatchString(segment) {
			return nil, fmt.Errorf("rename the folder %q: use letters, digits, - _ . and ~ only", segment)
		}
	}
	if err := checkName(path.Base(dir)); err != nil {
		return nil, fmt.Errorf("rename the folder: %w", err)
	}
	f := &folder{path: dir, skill: Skill{URI: "skill://" + dir + "/" + FileName}}
	for name, file := range r.files {
		if strings.HasPrefix(name, dir+"/") {
			f.files = append(f.files, file)
		}
	}
	if len(f.files) > MaxFiles {
		return nil, fmt.Errorf("the skill has %d files; %d are allowed: move some out of the folder", len(f.files), MaxFiles)
	}
	slices.SortFunc(f.files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	total := 0
	for _, file := range f.files {
		if err := r.load(file, MaxBytes-total); err != nil {
			return nil, err
		}
		total += len(file.data)
		f.skill.Resources = append(f.skill.Resources, Resource{file.uri, digest(file.data), int64(len(file.data))})
	}
	return f, f.describe(r.files[dir+"/"+FileName])
}

// load reads a file of at most room bytes. A file of a nested skill is read once.
func (r *reader) load(f *file, room int) error {
	if f.mime == irregular {
		return fmt.Errorf("%s is not a regular file (a symbolic link?): copy the file into the folder", f.path)
	}
	if f.uri == "" {
		uri := "skill://" + escaped(f.path)
		if err := checkURI(uri); err != nil {
			return fmt.Errorf("rename the file %q: %w", f.path, err)
		}
		data, err := readAtMost(r.root, f.path, room)
		if err != nil {
			return err
		}
		f.uri, f.data = uri, data
		f.text = utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
		f.mime = mimeType(f.path, f.text)
	}
	if len(f.data) > room {
		return errTooLarge
	}
	return nil
}

var errTooLarge = fmt.Errorf("the files of the skill have more than %d MiB in all: move some out of the folder", MaxBytes>>20)

func readAtMost(root fs.FS, name string, most int) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = errTooLarge
	}
	return data, err
}

// describe takes the frontmatter of SKILL.md into the entry.
func (f *folder) describe(file *file) error {
	if !file.text {
		return fmt.Errorf("%s: save it as UTF-8 text", FileName)
	}
	front, err := Frontmatter(file.data)
	if err != nil {
		return fmt.Errorf("%s: %w", FileName, err)
	}
	f.skill.Frontmatter = front
	name, ok := rawjson.String(rawjson.Lookup(front, "name"))
	if !ok || name != path.Base(f.path) {
		return fmt.Errorf("%s: frontmatter: set name to the name of the folder, %q", FileName, path.Base(f.path))
	}
	switch about, ok := rawjson.String(rawjson.Lookup(front, "description")); {
	case !ok || strings.TrimSpace(about) == "":
		return fmt.Errorf("%s: frontmatter: set description to what the skill does and when to use it", FileName)
	case utf8.RuneCountInString(about) > maxDescription:
		return fmt.Errorf("%s: frontmatter: shorten the description to %d characters", FileName, maxDescription)
	}
	if err := checkOptional(front); err != nil {
		return fmt.Errorf("%s: frontmatter: %w", FileName, err)
	}
	return f.skill.check()
}

// checkOptional returns an error if a field that the Agent Skills specification
// defines does not have the form that it requires: other clients refuse it.
func checkOptional(front json.RawMessage) error {
	if raw := rawjson.Lookup(front, "compatibility"); raw != nil {
		if text, ok := rawjson.String(raw); !ok || text == "" || utf8.RuneCountInString(text) > maxCompatibility {
			return fmt.Errorf("compatibility must be a text of at most %d characters", maxCompatibility)
		}
	}
	raw := rawjson.Lookup(front, "metadata")
	if raw != nil && !rawjson.IsObject(raw) {
		return errors.New("metadata must be a mapping of names to texts")
	}
	for m := rawjson.Object(raw); m.Next(); {
		if !rawjson.IsString(m.Value) {
			return fmt.Errorf("metadata: %s must be a text: quote it", rawjson.Quote(clip(string(m.Name))))
		}
	}
	return nil
}

// mimeTypes are the types of files by their extension. The system's own list
// would make a skill look different on each machine.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html", ".css": "text/css", ".xml": "text/xml",
	".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".py": "text/x-python", ".sh": "text/x-sh", ".go": "text/x-go", ".sql": "application/sql",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".pdf": "application/pdf",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml", ".webp": "image/webp",
}

func mimeType(name string, text bool) string {
	if t := mimeTypes[strings.ToLower(path.Ext(name))]; t != "" {
		return t
	}
	if text {
		return "text/plain"
	}
	return "application/octet-stream"
}
