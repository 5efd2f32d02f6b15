package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

func (f *files) addReadTools() {
	addTool(f, "read_file", "Read File (Deprecated)",
		"Read a text file. Deprecated: use read_text_file.", reading, readTextFile)
	addTool(f, "read_text_file", "Read Text File",
		"Read a text file (UTF-8). By default it reads from the start, as much as fits into one result; if text is cut, the result says how to continue. "+
			"head or tail reads the first or last lines; offset and limit read a range of lines, counted from 1.", reading, readTextFile)
	addTool(f, "read_media_file", "Read Media File",
		"Read a file as bytes: an image or audio as such, anything else as an embedded resource in Base64.", reading, readMediaFile)
	addTool(f, "read_multiple_files", "Read Multiple Files",
		"Read several text files in one call, each under its path. If one cannot be read, the result has its error and the other files.", reading, readMultipleFiles)
	addTool(f, "get_file_info", "Get File Info",
		"Get the size, times, permissions and type of a file or directory.", reading, getFileInfo)
	addTool(f, "list_allowed_directories", "List Allowed Directories",
		"List the directories that this server may use, with everything below them.", reading, listAllowedDirectories)
}

type readArgs struct {
	Path       string `json:"path" doc:"the file: an absolute path, a path relative to an allowed directory, or a file URI"`
	Tail       int    `json:"tail,omitzero" doc:"read only this many lines from the end" schema:"minimum=1"`
	Head       int    `json:"head,omitzero" doc:"read only this many lines from the start" schema:"minimum=1"`
	Offset     int    `json:"offset,omitzero" doc:"the first line to read, counted from 1" schema:"minimum=1"`
	Limit      int    `json:"limit,omitzero" doc:"number of lines to read" schema:"minimum=1"`
	ByteOffset int64  `json:"byteOffset,omitzero" doc:"continue at this byte: nextByteOffset of an earlier result" schema:"minimum=0"`
}

func (a *readArgs) span() (span, error) {
	if a.Head > 0 && a.Tail > 0 {
		return span{}, errors.New("Cannot specify both head and tail parameters simultaneously") //lint:ignore ST1005 the words of the reference server
	}
	if (a.Head > 0 || a.Tail > 0) && (a.Offset > 0 || a.Limit > 0 || a.ByteOffset > 0) {
		return span{}, errors.New("head and tail cannot be combined with offset, limit or byteOffset; use one or the other")
	}
	if a.Offset > 0 && a.ByteOffset > 0 {
		return span{}, errors.New("offset (lines) and byteOffset (bytes) cannot be combined; use one of them")
	}
	return span{head: a.Head, tail: a.Tail, offset: a.Offset, limit: a.Limit, from: a.ByteOffset}, nil
}

// A textRead is the result of reading a text file. The text is in the content.
type textRead struct {
	Path           string `json:"path" doc:"absolute path of the file, with links resolved"`
	Size           int64  `json:"size" doc:"size of the whole file in bytes"`
	FirstLine      int    `json:"firstLine,omitzero" doc:"number of the first line read, if known"`
	LastLine       int    `json:"lastLine,omitzero"`
	Truncated      bool   `json:"truncated" doc:"whether the text was cut"`
	NextOffset     int    `json:"nextOffset,omitzero" doc:"offset for the next call"`
	NextByteOffset int64  `json:"nextByteOffset,omitzero" doc:"byteOffset for the next call"`

	text string
}

func (r textRead) MCPContents() mcp.Contents {
	blocks := mcp.Contents{mcp.Text(r.text)}
	if r.Truncated {
		blocks = append(blocks, mcp.Text(r.notice()))
	}
	return blocks
}

// notice says how to read the rest.
func (r *textRead) notice() string {
	if r.NextOffset > 0 {
		return fmt.Sprintf("[Cut after line %d. The file has %d bytes. Continue with offset=%d.]", r.LastLine, r.Size, r.NextOffset)
	}
	return fmt.Sprintf("[Cut. The file has %d bytes. Continue with byteOffset=%d.]", r.Size, r.NextByteOffset)
}

func readTextFile(ctx context.Context, c *call, in readArgs) (textRead, error) {
	s, err := in.span()
	if err != nil {
		return textRead{}, err
	}
	return c.readText(ctx, in.Path, s, c.MaxResult)
}

func (c *call) readText(ctx context.Context, name string, s span, budget int) (textRead, error) {
	p, _, err := c.existing(name)
	if err != nil {
		return textRead{}, err
	}
	file, info, err := c.openFile(name, p)
	if err != nil {
		return textRead{}, err
	}
	defer file.Close()
	got, err := readText(cancellable{ctx, file}, info.Size(), s, budget)
	if err != nil {
		if _, ok := errors.AsType[*errBinary](err); !ok {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return textRead{}, asText(name, err)
	}
	return textRead{
		Path: p.String(), Size: info.Size(), FirstLine: got.firstLine, LastLine: got.lastLine,
		Truncated: got.cut, NextOffset: got.nextLine, NextByteOffset: got.nextByte, text: got.text,
	}, nil
}

type pathsArgs struct {
	Paths []string `json:"paths" doc:"the files to read" schema:"minItems=1"`
}

// filesRead is the result of reading several files.
type filesRead struct {
	Files []fileRead `json:"files"`
	text  string
}

type fileRead struct {
	Path      string `json:"path"`
	OK        bool   `json:"ok" doc:"whether it was read"`
	Size      int64  `json:"size,omitzero"`
	Truncated bool   `json:"truncated,omitzero"`
}

func (r filesRead) MCPText() string { return r.text }

func readMultipleFiles(ctx context.Context, c *call, in pathsArgs) (filesRead, error) {
	var out filesRead
	var parts []string
	room := c.MaxResult
	for _, name := range in.Paths {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		one := fileRead{Path: name}
		var part string
		got, err := c.readText(ctx, name, span{}, max(room, 1))
		switch {
		case err != nil:
			part = name + ": Error - " + err.Error()
		case got.Truncated && room <= 0:
			one.Truncated, one.Size = true, got.Size
			part = name + ": Error - left out because this result is full; use read_text_file"
		default:
			one.OK, one.Size, one.Truncated = true, got.Size, got.Truncated
			part = name + ":\n" + got.text + "\n"
			if got.Truncated {
				part += got.notice() + "\n"
			}
		}
		room -= len(part)
		parts = append(parts, part)
		out.Files = append(out.Files, one)
		if room < -c.MaxResult { // only errors, and very many
			return out, fmt.Errorf("%d paths are too many for one result; read fewer at a time", len(in.Paths))
		}
	}
	out.text = strings.Join(parts, "\n---\n")
	return out, nil
}

type pathArgs struct {
	Path string `json:"path" doc:"an absolute path, a path relative to an allowed directory, or a file URI"`
}

// fileInfo is the metadata of a file.
type fileInfo struct {
	Path        string `json:"path" doc:"absolute path, with links resolved"`
	URI         string `json:"uri" doc:"its URI as a resource"`
	Size        int64  `json:"size" doc:"in bytes"`
	Created     string `json:"created,omitzero" doc:"absent if the system does not record it"`
	Modified    string `json:"modified"`
	Accessed    string `json:"accessed,omitzero"`
	IsDirectory bool   `json:"isDirectory"`
	IsFile      bool   `json:"isFile"`
	Permissions string `json:"permissions" doc:"in octal, such as 644"`
}

func (i fileInfo) MCPText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "size: %d\n", i.Size)
	for _, t := range [][2]string{{"created", i.Created}, {"modified", i.Modified}, {"accessed", i.Accessed}} {
		if t[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", t[0], t[1])
		}
	}
	fmt.Fprintf(&b, "isDirectory: %t\nisFile: %t\npermissions: %s", i.IsDirectory, i.IsFile, i.Permissions)
	return b.String()
}

func getFileInfo(_ context.Context, c *call, in pathArgs) (fileInfo, error) {
	p, info, err := c.existing(in.Path)
	if err != nil {
		return fileInfo{}, err
	}
	created, accessed := times(p, info)
	return fileInfo{
		Path: p.String(), URI: p.uri(), Size: info.Size(),
		Created: stamp(created), Modified: stamp(info.ModTime()), Accessed: stamp(accessed),
		IsDirectory: info.IsDir(), IsFile: info.Mode().IsRegular(), Permissions: fmt.Sprintf("%03o", info.Mode()&fs.ModePerm),
	}, nil
}

// directories lists the areas of the client.
type directories struct {
	Directories []string `json:"directories"`
	ReadOnly    bool     `json:"readOnly" doc:"whether files cannot be changed"`
}

func (d directories) MCPText() string {
	return "Allowed directories:\n" + strings.Join(d.Directories, "\n")
}

func listAllowedDirectories(_ context.Context, c *call, _ struct{}) (directories, error) {
	out := directories{Directories: []string{}, ReadOnly: c.ReadOnly}
	for _, a := range c.areas {
		out.Directories = append(out.Directories, a.String())
	}
	return out, nil
}

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
