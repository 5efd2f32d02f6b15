package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

type folderArgs struct {
	Folder string `json:"folder,omitzero" doc:"the folder, such as Projects; default the top of the vault" schema:"maxLength=1024"`
	Limit  int    `json:"limit,omitzero" doc:"maximum number of entries" schema:"minimum=1,maximum=1000,default=200"`
	Offset int    `json:"offset,omitzero" doc:"number of entries to skip: next_offset of an earlier result" schema:"minimum=0,maximum=1000000"`
}

// An item is an entry of a folder.
type item struct {
	Path     string    `json:"path" doc:"path in the vault"`
	Kind     string    `json:"kind" doc:"folder, note or attachment"`
	Title    string    `json:"title,omitzero"`
	Size     int64     `json:"size,omitzero" doc:"in bytes"`
	Modified time.Time `json:"modified,omitzero"`
}

type items struct {
	Folder     string `json:"folder"`
	Entries    []item `json:"entries" doc:"folders first, then files, by name"`
	NextOffset *int   `json:"next_offset,omitempty" doc:"offset for the next call; absent at the end"`
}

// MCPText returns the text that a model reads.
func (l items) MCPText() string {
	if len(l.Entries) == 0 {
		return "The folder is empty."
	}
	var b strings.Builder
	for _, e := range l.Entries {
		switch {
		case e.Kind == "folder":
			fmt.Fprintf(&b, "%s/\n", e.Path)
			continue
		case e.Title != "" && e.Title != baseName(e.Path):
			fmt.Fprintf(&b, "%s “%s”", e.Path, e.Title)
		default:
			b.WriteString(e.Path)
		}
		fmt.Fprintf(&b, " (%s, %d bytes, %s)\n", e.Kind, e.Size, e.Modified.Format("2006-01-02 15:04"))
	}
	if l.NextOffset != nil {
		fmt.Fprintf(&b, "There are more. Continue with offset=%d.\n", *l.NextOffset)
	}
	return b.String()
}

// listFolder lists a folder without entries that the caller may not read or
// that begin with a dot.
func (v *vault) listFolder(_ context.Context, c *mcp.Call, in folderArgs) (items, error) {
	folder, a := ".", v.access(&c.Caller)
	if in.Folder != "" && in.Folder != "." && in.Folder != "/" {
		clean, err := cleanFolder(strings.TrimSuffix(in.Folder, "/"))
		if err != nil {
			return items{}, err
		}
		folder = clean
	}
	missing := fmt.Errorf("no folder %q", clip(in.Folder))
	if !a.sees(folder) || v.checkLinks(folder) != nil {
		return items{}, missing
	}
	entries, err := fs.ReadDir(v.root.FS(), folder)
	if err != nil {
		return items{}, missing
	}
	all := make([]item, 0, len(entries))
	for _, e := range entries {
		if it, ok := v.item(a, path.Join(folder, e.Name()), e); ok {
			all = append(all, it)
		}
	}
	slices.SortStableFunc(all, func(x, y item) int {
		return cmp.Or(cmp.Compare(kindOrder(x), kindOrder(y)), strings.Compare(strings.ToLower(x.Path), strings.ToLower(y.Path)))
	})
	out := items{Folder: folder}
	rest := all[min(in.Offset, len(all)):]
	out.Entries = rest[:min(in.Limit, len(rest))]
	if len(rest) > in.Limit {
		next := in.Offset + in.Limit
		out.NextOffset = &next
	}
	return out, nil
}

func kindOrder(it item) int {
	if it.Kind == "folder" {
		return 0
	}
	return 1
}

// item returns one entry, if it belongs to the notes and the caller may read
// it.
func (v *vault) item(a access, name string, e fs.DirEntry) (item, bool) {
	switch {
	case strings.HasPrefix(e.Name(), "."):
		return item{}, false
	case e.IsDir():
		return item{Path: name, Kind: "folder"}, a.sees(name)
	case !e.Type().IsRegular() || !a.reads(name):
		return item{}, false
	}
	info, err := e.Info()
	if err != nil {
		return item{}, false
	}
	it := item{Path: name, Kind: "attachment", Size: info.Size(), Modified: info.ModTime().UTC().Truncate(time.Second)}
	if isNote(e.Name()) {
		it.Kind = "note"
		if n := v.get(name); n != nil {
			it.Title = n.title
		}
	}
	return it, true
}

// sees reports whether the caller may read a folder or a folder in it.
func (a access) sees(folder string) bool {
	if a.everything || folder == "." {
		return true
	}
	return slices.ContainsFunc(a.grants, func(g Grant) bool {
		return inside(folder+"/x", g.Folder) || inside(g.Folder+"/x", folder)
	})
}

// maxAttachment is the maximum size of an attachment in bytes.
const maxAttachment = 8 << 20

type attachmentArgs struct {
	Path string `json:"path" doc:"the path of the file in the vault, from list_folder" schema:"minLength=1,maxLength=1024"`
}

// An attachment is a file that is not a note. Its bytes are in the content.
type attachment struct {
	Path     string `json:"path"`
	MIMEType string `json:"mimeType"`
	Size     int    `json:"size" doc:"in bytes"`
	data     []byte
}

// MCPContents returns an image or audio as such, and any other file as a
// resource.
func (f attachment) MCPContents() mcp.Contents {
	switch {
	case strings.HasPrefix(f.MIMEType, "image/") && f.MIMEType != "image/svg+xml":
		return mcp.Contents{&mcp.ImageContent{Data: f.data, MIMEType: f.MIMEType}}
	case strings.HasPrefix(f.MIMEType, "audio/"):
		return mcp.Contents{&mcp.AudioContent{Data: f.data, MIMEType: f.MIMEType}}
	}
	return mcp.Contents{mcp.Embed(mcp.ResourceContents{URI: "obsidian://attachment/" + strings.TrimPrefix(uriOf(f.Path), uriPrefix), MIMEType: f.MIMEType, Blob: f.data})}
}

func (v *vault) readAttachment(_ context.Context, c *mcp.Call, in attachmentArgs) (attachment, error) {
	name, err := cleanFolder(in.Path)
	if err != nil {
		return attachment{}, err
	}
	if isNote(path.Base(name)) {
		return attachment{}, fmt.Errorf("%q is a note; use read_note", name)
	}
	if !v.access(&c.Caller).reads(name) {
		return attachment{}, noFile(name)
	}
	if err := v.checkLinks(name); err != nil {
		return attachment{}, fileError(name, err)
	}
	f, info, err := v.openNote(name)
	if errors.Is(err, fs.ErrNotExist) {
		return attachment{}, noFile(name)
	}
	if err != nil {
		return attachment{}, fileError(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAttachment+1))
	if err != nil {
		return attachment{}, fileError(name, err)
	}
	if len(data) > maxAttachment {
		return attachment{}, fmt.Errorf("%q has %d bytes; the maximum is %d MiB", name, info.Size(), maxAttachment>>20)
	}
	return attachment{name, mimeOf(name), len(data), data}, nil
}

func mimeOf(name string) string {
	types := map[string]string{
		".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp", ".svg": "image/svg+xml", ".avif": "image/avif",
		".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4", ".opus": "audio/opus",
		".pdf": "application/pdf", ".canvas": "application/json", ".json": "application/json", ".csv": "text/csv", ".txt": "text/plain", ".html": "text/html",
	}
	if t, ok := types[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}
