package fs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A mediaRead is the result of read_media_file. The bytes are in the content.
type mediaRead struct {
	Path     string `json:"path" doc:"absolute path of the file, with links resolved"`
	MIMEType string `json:"mimeType"`
	Size     int64  `json:"size"`

	uri  string
	data []byte
}

func (r mediaRead) MCPContents() mcp.Contents {
	switch {
	case strings.HasPrefix(r.MIMEType, "image/"):
		return mcp.Contents{mcp.Image(r.data, r.MIMEType)}
	case strings.HasPrefix(r.MIMEType, "audio/"):
		return mcp.Contents{mcp.Audio(r.data, r.MIMEType)}
	}
	return mcp.Contents{mcp.Embed(mcp.ResourceContents{URI: r.uri, MIMEType: r.MIMEType, Blob: r.data})}
}

func readMediaFile(_ context.Context, c *call, in pathArgs) (mediaRead, error) {
	p, _, err := c.existing(in.Path)
	if err != nil {
		return mediaRead{}, err
	}
	data, err := c.readAll(in.Path, p, inParts)
	if err != nil {
		return mediaRead{}, err
	}
	return mediaRead{Path: p.String(), MIMEType: mimeType(p.name()), Size: int64(len(data)), uri: p.uri(), data: data}, nil
}

// Advice at the end of the error for a file that is too large.
const (
	inParts  = "can be read at once; read text in parts with read_text_file"
	forEdits = "can be edited; the server setting maxfile=BYTES changes the limit"
)

// readAll reads a file of at most MaxFile bytes. The result is never nil.
// advice ends the error for a larger file.
func (f *files) readAll(name string, p location, advice string) ([]byte, error) {
	file, info, err := f.openFile(name, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tooLarge := fmt.Errorf("%s has %d bytes; at most %d %s", name, info.Size(), f.MaxFile, advice)
	if info.Size() > int64(f.MaxFile) {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(f.MaxFile)+1)) // the file may be growing
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	if len(data) > f.MaxFile {
		return nil, tooLarge
	}
	return data, nil
}

// stamp formats a time; the zero time is empty.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
