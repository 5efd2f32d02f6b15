package skills

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Options configures [Add]; nil means the defaults.
type Options struct {
	// Unlisted reports whether to leave a skill out of the list, by the path of
	// its folder. Clients that know its URI can still use it. Nil lists all.
	Unlisted func(path string) bool
	// Cache says for how long clients may cache entries and files. The default
	// is not at all, because a client would miss a new version of the server.
	Cache mcp.Cache
	// PageSize is the maximum number of items on one page of a list. 0 means
	// 100.
	PageSize int
}

// Add serves all skills of a file system, and declares the extension. A skill is
// a folder with a file SKILL.md; its name is that of the folder. The folder may
// be in other folders, also in that of another skill, and its path is the path
// of the URI: the file a/b/SKILL.md is the resource skill://a/b/SKILL.md.
// resources/list has SKILL.md files only; the others are read by their URI.
//
// Add reads all files once: changes after that have no effect, and symbolic
// links and files whose names begin with a dot are not served. If other users
// can write to the folder, open it with [os.OpenRoot], whose file system cannot
// be left.
//
// Add returns an error, and adds nothing, if a folder is not a valid skill. The
// error names every such folder and says what to do.
func Add(s *server.Server, root fs.FS, o *Options) error {
	folders, err := readFolders(root)
	if err != nil {
		return err
	}
	c := &catalog{server: s, byURI: map[string]*folder{}, dirs: map[string][]*node{}}
	if o != nil {
		c.opts = *o
	}
	c.opts.setDefaults()
	c.fill(folders)
	err = s.AddExtension(server.Extension{
		ID:       ExtensionID,
		Settings: []byte(`{"directoryRead":true}`),
		Methods: map[string]mcp.HandlerFunc{
			MethodList: c.list, MethodGet: c.get, MethodReadDirectory: c.readDirectory,
		},
	})
	if err != nil {
		return err
	}
	return c.addResources()
}

func (o *Options) setDefaults() {
	o.Cache.Scope = cmp.Or(o.Cache.Scope, mcp.ScopePrivate) // results must have the hint, also that of not caching
	if o.PageSize <= 0 {
		o.PageSize = 100
	}
}

// A catalog serves the methods of the extension. It does not change.
type catalog struct {
	server *server.Server
	opts   Options
	listed []*folder // sorted by URI
	byURI  map[string]*folder
	files  map[string]*file   // by path
	dirs   map[string][]*node // the children of each folder, by URI; sorted
}

// A node is a file or folder in a folder.
type node struct {
	spec mcp.Resource
	file *file // nil: a folder
}

// fill takes in the skills.
func (c *catalog) fill(folders []*folder) {
	c.files = map[string]*file{}
	for _, f := range folders {
		c.byURI[f.skill.URI] = f
		if c.opts.Unlisted == nil || !c.opts.Unlisted(f.path) {
			c.listed = append(c.listed, f)
		}
		for _, file := range f.files {
			c.files[file.path] = file
		}
	}
	for _, file := range c.files {
		c.child(&node{spec: c.spec(file), file: file})
	}
}

// child adds a node to its folder, that folder to its own, and so on.
func (c *catalog) child(n *node) {
	uri := n.spec.URI
	dir := uri[:strings.LastIndexByte(uri, '/')]
	at, found := slices.BinarySearchFunc(c.dirs[dir], uri, func(other *node, uri string) int { return strings.Compare(other.spec.URI, uri) })
	if found {
		return
	}
	c.dirs[dir] = slices.Insert(c.dirs[dir], at, n)
	if up := strings.LastIndexByte(dir, '/'); up > len("skill://") {
		name, _ := url.PathUnescape(dir[up+1:])
		c.child(&node{spec: mcp.Resource{URI: dir, Name: name, MIMEType: DirectoryType}})
	}
}

// spec returns the resource of a file.
func (c *catalog) spec(f *file) mcp.Resource {
	size := int64(len(f.data))
	r := mcp.Resource{URI: f.uri, Name: path.Base(f.path), MIMEType: f.mime, Size: &size}
	if skill := c.byURI[f.uri]; skill != nil {
		r.Name, r.Description = skill.skill.Name(), skill.skill.Description()
	}
	return r
}

// addResources adds the files as resources.
func (c *catalog) addResources() error {
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[name]
		contents := []mcp.ResourceContents{{Text: string(f.data)}}
		if !f.text {
			contents = []mcp.ResourceContents{{Blob: f.data}}
		}
		read := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return contents, nil
		}
		skill := c.byURI[f.uri]
		listed := skill != nil && slices.Contains(c.listed, skill)
		if err := c.server.AddResource(c.spec(f), read, &server.ResourceOptions{Cache: c.opts.Cache, Unlisted: !listed}); err != nil {
			return err
		}
	}
	return nil
}

// visible reports whether a caller may use a skill: all of its files.
func (c *catalog) visible(caller *mcp.Caller, f *folder) bool {
	return !slices.ContainsFunc(f.files, func(file *file) bool { return !c.readable(caller, file) })
}

func (c *catalog) readable(caller *mcp.Caller, f *file) bool {
	return c.server.Allows(caller, server.Feature{Kind: server.KindResource, Name: f.uri})
}

// maxPage is the size in bytes from which on a page of the list is full.
const maxPage = 256 << 10

// list serves skills/list. The cursor is the URI of the last entry of the page
// before.
func (c *catalog) list(_ context.Context, call *mcp.Call) (mcp.Result, error) {
	after, err := readCursor(call, func(uri string) bool {
		f := c.byURI[uri]
		return f != nil && c.visible(&call.Caller, f)
	})
	if err != nil {
		return mcp.Result{}, err
	}
	page := struct {
		Skills []Skill `json:"skills"`
		Next   string  `json:"nextCursor,omitzero"`
	}{Skills: []Skill{}}
	size := 0
	for _, f := range c.listed {
		if f.skill.URI <= after || !c.visible(&call.Caller, f) {
			continue
		}
		if n := len(page.Skills); n == c.opts.PageSize || size > maxPage {
			page.Next = page.Skills[n-1].URI
			break
		}
		page.Skills = append(page.Skills, f.skill)
		size += len(f.skill.Frontmatter) + 200*len(f.skill.Resources)
	}
	body, err := mcp.Marshal(page)
	return mcp.Result{Body: body, Cache: c.opts.Cache}, err
}

// get serves skills/get.
func (c *catalog) get(_ context.Context, call *mcp.Call) (mcp.Result, error) {
	uri, err := readURI(call)
	if err != nil {
		return mcp.Result{}, err
	}
	f := c.byURI[uri]
	if f == nil || !c.visible(&call.Caller, f) {
		return mcp.Result{}, mcp.InvalidParams("no skill has the URI %q", clip(uri))
	}
	body, err := mcp.Marshal(map[string]Skill{"skill": f.skill})
	return mcp.Result{Body: body, Cache: c.opts.Cache}, err
}

// readDirectory serves resources/directory/read. The cursor is the URI of the
// last child of the page before.
func (c *catalog) readDirectory(_ context.Context, call *mcp.Call) (mcp.Result, error) {
	uri, err := readURI(call)
	if err != nil {
		return mcp.Result{}, err
	}
	children, ok := c.children(&call.Caller, uri)
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("no directory has the URI %q", clip(uri))
	}
	after, err := readCursor(call, func(last string) bool { return strings.HasPrefix(last, uri+"/") })
	if err != nil {
		return mcp.Result{}, err
	}
	page := struct {
		Resources []mcp.Resource `json:"resources"`
		Next      string         `json:"nextCursor,omitzero"`
	}{Resources: []mcp.Resource{}}
	for _, n := range children {
		if n.spec.URI <= after {
			continue
		}
		if len(page.Resources) == c.opts.PageSize {
			page.Next = page.Resources[len(page.Resources)-1].URI
			break
		}
		page.Resources = append(page.Resources, n.spec)
	}
	body, err := mcp.Marshal(page)
	return mcp.Result{Body: body, Cache: c.opts.Cache}, err // the TypeScript SDK requires the hint here, too
}

// children returns what a caller may see in a folder. It returns false if there
// is no such folder for the caller.
func (c *catalog) children(caller *mcp.Caller, dir string) (seen []*node, ok bool) {
	for _, n := range c.dirs[dir] {
		if n.file != nil && !c.readable(caller, n.file) {
			continue
		}
		if n.file == nil {
			if _, ok := c.children(caller, n.spec.URI); !ok {
				continue
			}
		}
		seen = append(seen, n)
	}
	return seen, len(seen) > 0
}

func readURI(call *mcp.Call) (string, error) {
	uri, ok := rawjson.String(rawjson.Lookup(call.Params, "uri"))
	if !ok {
		return "", mcp.InvalidParams("uri: missing or not a string")
	}
	return uri, nil
}

func readCursor(call *mcp.Call, known func(string) bool) (string, error) {
	raw := rawjson.Lookup(call.Params, "cursor")
	if raw == nil {
		return "", nil
	}
	cursor, ok := rawjson.String(raw)
	if !ok || !known(cursor) {
		return "", mcp.InvalidParams("cursor: not a cursor of this list; request the first page without a cursor")
	}
	return cursor, nil
}
