package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// maxUpload is the maximum size of an uploaded body.
const maxUpload = 64 << 20

// maxFiles is the maximum number of files of one name.
const maxFiles = 100

// A fileRule is a compiled file of a tool.
type fileRule struct {
	name string
	from *expr.Template
	max  int64

	base64, text bool // an expression uses the content
}

var fileUses = regexp.MustCompile(`\$files\.([A-Za-z_][A-Za-z0-9_]*)(?:\.([a-z0-9]+))?`)

// uploads compiles the files of a tool. Until the tool is compiled, its other parts may
// use their names.
func (c *compiler) uploads(at string, s map[string]spec.FileSource) []fileRule {
	var out []fileRule
	c.fileNames = c.file.Names(at)
	for _, name := range c.fileNames {
		one, path := s[name], spec.Path(at, name)
		if !plainName.MatchString(name) {
			c.fail(path, "a name of a file has letters, digits and _, so that $files.NAME has its size")
		}
		if one.Max > maxUpload {
			c.fail(path+".max", "an upload has at most %d MiB", maxUpload>>20)
		}
		rule := fileRule{name: name, from: c.text(path+".from", one.From, true), max: int64(one.Max)}
		if rule.max == 0 {
			rule.max = maxUpload
		}
		if uses := fileUses.FindStringSubmatch(one.From); uses != nil {
			c.fail(path+".from", "the files are not known here yet: use the arguments, such as {{ .%s }}", name)
		}
		out = append(out, rule)
	}
	return out
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// knowsFiles reports names of files that the tool does not have.
func (c *compiler) knowsFiles(path, source string) {
	for _, m := range fileUses.FindAllStringSubmatch(source, -1) {
		c.knowsFile(path, m[1])
		c.contentUses = append(c.contentUses, m[1]+"."+m[2])
		if m[2] != "" && !slices.Contains(fileMembers, m[2]) {
			c.fail(path, "a file has no %q%s", m[2], c.suggest(m[2], fileMembers))
		}
	}
}

func (c *compiler) knowsFile(path, name string) {
	switch {
	case slices.Contains(c.fileNames, name) || c.file.Broken(c.filesAt):
	case c.filesAt == "":
		c.fail(path, "there is no file %q: only the requests of a tool can use its files", name)
	case len(c.fileNames) == 0:
		c.fail(path, "there is no file %q; name it below files of the tool: files: {%[1]s: \"{{ .%[1]s }}\"}", name)
	default:
		c.fail(path, "there is no file %q%s", name, c.suggest(name, c.fileNames))
	}
}

// fileMembers are the members of a file in expressions.
var fileMembers = []string{"name", "size", "type", "base64", "text"}

// unusedFiles notes which contents expressions use, and reports files that no request
// sends.
func (c *compiler) unusedFiles(path string, t *tool, before int) {
	sent := map[string]bool{}
	for i := range t.files {
		f := &t.files[i]
		f.base64, f.text = slices.Contains(c.contentUses, f.name+".base64"), slices.Contains(c.contentUses, f.name+".text")
		sent[f.name] = f.base64 || f.text
	}
	if len(c.found) > before || c.file.Damaged(path) {
		return
	}
	each := func(r *request) {
		for _, p := range append(slices.Clone(r.multipart), deref(r.raw)...) {
			sent[p.file] = true
		}
	}
	each(t.main.request)
	for _, f := range t.then {
		each(f.request)
	}
	for _, name := range c.fileNames {
		if !sent[name] {
			c.fail(spec.Path(path+".files", name), "the file is not sent by any request: use it as multipart: {field: {file: %s}}, raw: {file: %[1]s} or $files.%[1]s.base64", name)
		}
	}
}

func deref(p *part) []part {
	if p == nil {
		return nil
	}
	return []part{*p}
}

// An upload is the content of a file of a call.
type upload struct {
	name, mime string
	data       []byte
}

// uploads are the files of a name: one, or several if the argument is an array.
type uploads struct {
	files []upload
	many  bool // the argument is an array
}

// needsFolders reports whether a request of the tool sends a file by its path.
func (t *tool) needsFolders() bool {
	by := func(r *request) bool {
		return r.raw != nil && r.raw.path != nil || slices.ContainsFunc(r.multipart, func(p part) bool { return p.path != nil })
	}
	return by(t.main.request) || slices.ContainsFunc(t.then, func(f followUp) bool { return by(f.request) })
}

// takeFiles reads the files of a call, and asks the client for its roots if they are
// needed. It runs before everything else, so that the user is asked about what is
// sent. The files of a batch are read with each item.
func (e *engine) takeFiles(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) error {
	if len(t.files) == 0 && !t.needsFolders() {
		return nil
	}
	needs := t.needsFolders()
	scopes := []*scope{sc}
	if t.batch != nil {
		scopes = nil
		items, _ := sc.args[t.batch.Over].([]any)
		for _, item := range items {
			scopes = append(scopes, sc.with(t.batch.As, item))
		}
	}
	for _, one := range scopes {
		for _, rule := range t.files {
			names, _, err := rule.names(ctx, one)
			if err != nil {
				return err
			}
			needs = needs || slices.ContainsFunc(names, func(name string) bool { s := scheme(name); return s == "" || s == "file" })
		}
	}
	if needs {
		var err error
		if sc.folders, err = v.folders(c); err != nil {
			return err
		}
	}
	if t.batch != nil {
		return nil
	}
	if err := e.readFiles(ctx, c, v, t, sc); err != nil {
		return err
	}
	return unchanged(c, t, sc)
}

// unchanged makes sure that what is sent is what the user was asked about.
func unchanged(c *mcp.Call, t *tool, sc *scope) error {
	if t.confirm == nil || len(t.files) == 0 {
		return nil
	}
	var texts []string
	for _, rule := range t.files {
		for _, f := range sc.uploads[rule.name].files {
			texts = append(texts, rule.name, f.name, string(f.data))
		}
	}
	now, err := json.Marshal(digest(texts...))
	if err != nil {
		return err
	}
	if before, ok := c.Saved("api/files"); ok {
		if string(before) != string(now) {
			return errors.New("nothing was done: a file has changed since the user was asked about it. Call again")
		}
		return nil
	}
	c.Save("api/files", now)
	return nil
}

// names returns the paths and URIs that a rule gives.
func (r *fileRule) names(ctx context.Context, sc *scope) (names []string, many bool, err error) {
	value, err := r.from.Value(ctx, sc.args, &sc.vars)
	if err != nil || value == nil {
		return nil, false, err
	}
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	if len(list) > maxFiles {
		return nil, many, fmt.Errorf("the file %s: at most %d files can be uploaded at once, got %d", r.name, maxFiles, len(list))
	}
	for _, one := range list {
		text, ok := one.(string)
		if !ok || text == "" {
			return nil, many, fmt.Errorf("the file %s: expected a path or a URI, got %s", r.name, clipText(expr.Text(one), 100))
		}
		names = append(names, text)
	}
	return names, many, nil
}

// readFiles reads the files of a call, or of one item of a batch.
func (e *engine) readFiles(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) error {
	if len(t.files) == 0 {
		return nil
	}
	sc.uploads = map[string]uploads{}
	shown := map[string]any{}
	total := int64(0)
	for i := range t.files {
		rule := &t.files[i]
		names, many, err := rule.names(ctx, sc)
		if err != nil {
			return err
		}
		got := uploads{many: many}
		left := rule.max
		var rows []any
		for _, name := range names {
			one, err := e.readFile(ctx, c, v, sc.folders, name, min(left, maxUpload-total))
			if err != nil {
				return err
			}
			left -= int64(len(one.data))
			total += int64(len(one.data))
			got.files = append(got.files, *one)
			row, err := rule.show(name, one)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		sc.uploads[rule.name] = got
		switch {
		case many:
			shown[rule.name] = append([]any{}, rows...)
		case len(rows) == 1:
			shown[rule.name] = rows[0]
		default:
			shown[rule.name] = nil
		}
	}
	sc.vars.Files = shown
	return nil
}

// show returns a file for expressions.
func (r *fileRule) show(name string, one *upload) (map[string]any, error) {
	row := map[string]any{"name": one.name, "size": len(one.data), "type": one.mime}
	if r.base64 {
		row["base64"] = base64.StdEncoding.EncodeToString(one.data)
	}
	if r.text {
		if !utf8.Valid(one.data) {
			return nil, fmt.Errorf("%q is not a text", name)
		}
		row["text"] = string(one.data)
	}
	return row, nil
}

// readFile returns the content of a path or a URI.
func (e *engine) readFile(ctx context.Context, c *mcp.Call, v *service, from *folders, name string, limit int64) (*upload, error) {
	var one *upload
	var err error
	if s := scheme(name); s == "" || s == "file" {
		one, err = from.read(name, limit)
	} else {
		one, err = e.readUploaded(ctx, c, v, name)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(one.data)) > limit {
		return nil, tooLarge(name, limit)
	}
	if text := string(one.data); e.hidden(text) != text {
		return nil, withSecret(name)
	}
	return one, nil
}

// withSecret is the error for a content that has a secret of the server.
func withSecret(name string) error {
	return fmt.Errorf("%q is not sent: it contains a credential of this server", name)
}

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%q is too large: at most %s can be uploaded here", name, bytesText(limit))
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", max(n, 0))
}

// scheme returns the scheme of a URI in lower case; empty for a path, also for one
// with a drive letter.
func scheme(name string) string {
	before, _, ok := strings.Cut(name, ":")
	if !ok || !schemes.MatchString(before) {
		return ""
	}
	return strings.ToLower(before)
}

var schemes = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+$`)

// readUploaded returns the content of a resource of this server, or of a link that
// one of its results has.
func (e *engine) readUploaded(ctx context.Context, c *mcp.Call, v *service, uri string) (*upload, error) {
	if id, ok := strings.CutPrefix(uri, e.linkPrefix); ok {
		one := e.links.get(id, c.Caller.Principal.Key())
		if one == nil {
			return nil, fmt.Errorf("the link %q is not known or has expired: call the tool that returned it again", uri)
		}
		return &upload{one.name, one.mime, one.data}, nil
	}
	for _, r := range v.resources {
		vars, ok := r.matches(uri)
		if !ok {
			continue
		}
		args := make(map[string]any, len(vars))
		for name, value := range vars {
			args[name] = value
		}
		contents, err := e.contents(ctx, c, v, r, newScope(args))
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", uri, err)
		}
		data := contents.Blob
		if data == nil {
			data = []byte(contents.Text)
		}
		return &upload{oneLine(lastSegment(uri)), contents.MIMEType, data}, nil
	}
	return nil, fmt.Errorf("%q is not a resource of this server: use a resource that it lists, a link of one of its results, or the path of a file", uri)
}

// lastSegment returns a file name for the content of a URI.
func lastSegment(uri string) string {
	uri, _, _ = strings.Cut(uri, "?")
	name := path.Base(strings.TrimRight(uri, "/"))
	if name == "." || name == "/" || strings.HasSuffix(name, ":") {
		return "file"
	}
	return name
}

// folders returns the folders whose files a call may send: that of the setting files,
// or else the roots of its client. The client is asked for them; if it cannot be, the
// reason is kept until a file is needed.
func (v *service) folders(c *mcp.Call) (*folders, error) {
	if v.config.Files != "" {
		return &folders{dirs: []string{v.config.Files}, what: "the folder of files"}, nil
	}
	if !v.config.ClientRoots {
		return &folders{why: "the server was started without the setting files=DIR, which names a folder of files to upload. Where the client runs on the machine of the server, clientroots=1 allows the folders of the client instead"}, nil
	}
	//lint:ignore SA1019 clients name their folders as roots
	if err := c.Caller.CanHandle(mcp.RootsRequest()); err != nil {
		return &folders{why: "the client does not say which folders may be used (it has no roots). Start the server with the setting files=DIR, or use a client that has roots"}, nil
	}
	//lint:ignore SA1019 clients name their folders as roots
	roots, err := server.Roots(c, "api/roots")
	if err != nil {
		return nil, err
	}
	out := &folders{what: "the folders of the client (roots)", why: "the client names no folder of this machine as a root. Add one there, or start the server with the setting files=DIR"}
	for _, r := range roots {
		if dir, err := localPath(r.URI); err == nil && !isVolume(dir) {
			out.dirs = append(out.dirs, dir)
		}
	}
	return out, nil
}
