package fs

import (
	"context"
	"encoding/base64"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/mcp"
)

const template = "file://{+path}"

// addResources adds the resource template for files. The list of resources
// is produced page by page on request (listResources).
func (f *files) addResources() error {
	err := f.server.AddTemplate(mcp.ResourceTemplate{
		URITemplate: template, Name: "file", Title: "File",
		Description: "A file in an allowed directory, by its absolute path",
	}, f.readResource, nil)
	if err != nil {
		return err
	}
	return f.server.CompleteTemplate(template, "path", f.completePath)
}

func (f *files) readResource(_ context.Context, c *mcp.Call, uri string, _ map[string]string) ([]mcp.ResourceContents, error) {
	scoped, err := f.callFor(c)
	if err != nil {
		return nil, err
	}
	p, info, err := scoped.resolve(uri)
	if err == nil && info == nil {
		return nil, mcp.ResourceNotFound(uri)
	}
	var data []byte
	if err == nil {
		data, err = f.readAll(uri, p, inParts)
	}
	if err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	contents := mcp.ResourceContents{URI: uri, MIMEType: mimeType(p.name())}
	if binary(data[:min(len(data), 8<<10)]) == nil && utf8.Valid(data) {
		contents.Text = string(data)
		if contents.MIMEType == "application/octet-stream" {
			contents.MIMEType = "text/plain"
		}
	} else {
		contents.Blob = data
	}
	return []mcp.ResourceContents{contents}, nil
}

// listResources is middleware that serves resources/list from the file system.
func (f *files) listResources(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodResourcesList {
			return next.Serve(ctx, c)
		}
		var in mcp.PageParams
		if err := c.Decode(&in); err != nil {
			return mcp.Result{}, err
		}
		from, err := f.readCursor(in.Cursor)
		if err != nil {
			return mcp.Result{}, err
		}
		// resources/list cannot require input, so client roots narrow
		// reading only.
		page, err := f.listPage(ctx, &call{Call: c, files: f, areas: f.allRoots()}, from)
		if err != nil {
			return mcp.Result{}, err
		}
		body, err := mcp.Marshal(page)
		return mcp.Result{Body: body}, err
	})
}

// A bookmark is the position after a page: the last file of the page.
type bookmark struct {
	root int
	rel  string // empty means the start of the root
}

func (f *files) readCursor(cursor *string) (bookmark, error) {
	if cursor == nil {
		return bookmark{}, nil
	}
	wrong := mcp.InvalidParams("unknown cursor; start again without a cursor")
	raw, err := base64.RawURLEncoding.DecodeString(*cursor)
	number, rel, ok := strings.Cut(string(raw), "/")
	root, err2 := strconv.Atoi(number)
	if err != nil || err2 != nil || !ok || root < 0 || root >= len(f.roots) || rel != "" && !fs.ValidPath(rel) {
		return bookmark{}, wrong
	}
	return bookmark{root, rel}, nil
}

func (b bookmark) cursor() *string {
	s := base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(b.root) + "/" + b.rel))
	return &s
}

// listPage lists the files after a bookmark. A bookmark is a path and not a
// number, because files may be added or removed between two pages.
func (f *files) listPage(ctx context.Context, c *call, from bookmark) (*mcp.ListResourcesResult, error) {
	out := &mcp.ListResourcesResult{Resources: []mcp.Resource{}}
	last := from
	full := false
	for i := from.root; i < len(f.roots) && !full; i++ {
		behind := ""
		if i == from.root {
			behind = from.rel
		}
		w := &walk{call: c, start: location{f.roots[i], "."}, gitignore: true, visit: func(p location, rel string, e fs.DirEntry) step {
			if order := inOrder(rel, behind); order < 0 && !strings.HasPrefix(behind, rel+"/") {
				return skipEntry // on an earlier page
			} else if order <= 0 || !e.Type().IsRegular() {
				return walkOn
			}
			if len(out.Resources) == f.PageSize {
				full = true
				return stopWalk
			}
			if r, ok := asResource(p, e); ok {
				out.Resources = append(out.Resources, r)
				last = bookmark{i, rel}
			}
			return walkOn
		}}
		if err := w.run(ctx); err != nil {
			return nil, mcp.Errorf(mcp.CodeInternal, "list %s: %v", f.roots[i].real, err)
		}
	}
	if full {
		out.NextCursor = last.cursor()
	}
	return out, nil
}

// inOrder compares two paths in walk order, element by element.
func inOrder(a, b string) int {
	if b == "" {
		return 1
	}
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		if d := strings.Compare(as[i], bs[i]); d != 0 {
			return d
		}
	}
	return len(as) - len(bs)
}

func asResource(p location, e fs.DirEntry) (mcp.Resource, bool) {
	info, err := e.Info()
	if err != nil || !utf8.ValidString(p.rel) {
		return mcp.Resource{}, false
	}
	size := info.Size()
	r := mcp.Resource{URI: p.uri(), Name: p.rel, Size: &size, Annotations: &mcp.Annotations{LastModified: stamp(info.ModTime())}}
	if t := mimeType(p.name()); t != "application/octet-stream" {
		r.MIMEType = t
	}
	return r, true
}

// completePath completes an absolute path, one element at a time.
func (f *files) completePath(_ context.Context, c *mcp.Call, value string, _ map[string]string) ([]string, error) {
	scoped := &call{Call: c, files: f, areas: f.allRoots()}
	var out []string
	for _, a := range scoped.areas { // roots that begin with the value
		if dir := slashed(a.String()) + "/"; strings.HasPrefix(dir, value) {
			out = append(out, dir)
		}
	}
	dir, prefix := path.Split(value)
	if dir == "" {
		return out, nil
	}
	p, info, err := scoped.resolve(filepath.FromSlash(unslashed(dir)))
	if err != nil || info == nil || !info.IsDir() {
		return out, nil
	}
	entries, err := readDir(p)
	if err != nil {
		return out, nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || e.IsDir() && p.join(e.Name()).inKernelFS() {
			continue
		}
		target := scoped.target(p, e)
		if target == nil {
			continue
		}
		if target.IsDir() {
			out = append(out, dir+e.Name()+"/")
		} else {
			out = append(out, dir+e.Name())
		}
	}
	return out, nil
}

// slashed returns a path as written in a URI, with a slash before a drive.
func slashed(name string) string {
	name = strings.TrimSuffix(filepath.ToSlash(name), "/")
	if runtime.GOOS == "windows" && !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return name
}

func unslashed(name string) string {
	if runtime.GOOS == "windows" {
		return strings.TrimPrefix(name, "/")
	}
	return name
}
