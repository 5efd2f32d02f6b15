package fs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A mediaRead is a file as bytes, which are in the content.
type mediaRead struct {
	Path     string `json:"path" doc:"where the file really is"`
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

// What to do with a file that is too large.
const (
	inParts  = "go out in one piece: read text in parts with read_text_file"
	forEdits = "can be edited: the setting maxfile=BYTES of this server allows more"
)

// readAll reads a file that fits into one piece. The bytes are never nil. advice
// ends the error about one that does not.
func (f *files) readAll(name string, p place, advice string) ([]byte, error) {
	file, info, err := f.openFile(name, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tooLarge := fmt.Errorf("%s has %d bytes, and at most %d %s", name, info.Size(), f.MaxFile, advice)
	if info.Size() > int64(f.MaxFile) {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(f.MaxFile)+1)) // it may grow meanwhile
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	if len(data) > f.MaxFile {
		return nil, tooLarge
	}
	return data, nil
}

// stamp writes a time; one that is not known is empty.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
