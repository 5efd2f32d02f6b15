package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

func (f *files) addReading() {
	addTool(f, "read_file", "Read File (Deprecated)",
		"Read a text file. Deprecated: use read_text_file.", reading, readTextFile)
	addTool(f, "read_text_file", "Read Text File",
		"Read a text file (UTF-8). Without further arguments it reads from the start, as much as fits into one result; what is cut says how to read on. "+
			"head and tail give the first or last lines; offset and limit give a range of lines, counted from 1.", reading, readTextFile)
	addTool(f, "read_media_file", "Read Media File",
		"Read a file as bytes: images and sound as such, anything else as an embedded resource in Base64.", reading, readMediaFile)
	addTool(f, "read_multiple_files", "Read Multiple Files",
		"Read several text files at once, each under its path. One that cannot be read does not keep the others from being read.", reading, readMultipleFiles)
	addTool(f, "get_file_info", "Get File Info",
		"Tell the size, times, permissions and type of a file or directory without reading it.", reading, getFileInfo)
	addTool(f, "list_allowed_directories", "List Allowed Directories",
		"List the directories that can be reached here, with everything below them.", reading, listAllowedDirectories)
}

type readArgs struct {
	Path       string `json:"path" doc:"the file, as an absolute path, relative to an allowed directory, or as a file URI"`
	Tail       int    `json:"tail,omitzero" doc:"only so many lines from the end" schema:"minimum=1"`
	Head       int    `json:"head,omitzero" doc:"only so many lines from the start" schema:"minimum=1"`
	Offset     int    `json:"offset,omitzero" doc:"the first line to read; 1 is the first of the file" schema:"minimum=1"`
	Limit      int    `json:"limit,omitzero" doc:"how many lines to read" schema:"minimum=1"`
	ByteOffset int64  `json:"byteOffset,omitzero" doc:"read on from this byte, as an earlier result says" schema:"minimum=0"`
}

func (a *readArgs) span() (span, error) {
	if a.Head > 0 && a.Tail > 0 {
		return span{}, errors.New("Cannot specify both head and tail parameters simultaneously") //lint:ignore ST1005 the words of the reference server
	}
	if (a.Head > 0 || a.Tail > 0) && (a.Offset > 0 || a.Limit > 0 || a.ByteOffset > 0) {
		return span{}, errors.New("head and tail do not go together with offset, limit and byteOffset: use one or the other")
	}
	if a.Offset > 0 && a.ByteOffset > 0 {
		return span{}, errors.New("offset counts lines and byteOffset counts bytes: use one of them")
	}
	return span{head: a.Head, tail: a.Tail, offset: a.Offset, limit: a.Limit, from: a.ByteOffset}, nil
}

// A textRead is what was read of a file. The text itself is in the content.
type textRead struct {
	Path           string `json:"path" doc:"where the file really is"`
	Size           int64  `json:"size" doc:"bytes of the whole file"`
	FirstLine      int    `json:"firstLine,omitzero" doc:"number of the first line that was read, if it is known"`
	LastLine       int    `json:"lastLine,omitzero"`
	Truncated      bool   `json:"truncated" doc:"whether there is more of what was asked for"`
	NextOffset     int    `json:"nextOffset,omitzero" doc:"the offset with which to read on"`
	NextByteOffset int64  `json:"nextByteOffset,omitzero" doc:"the byteOffset with which to read on"`

	text string
}

func (r textRead) MCPContents() mcp.Contents {
	blocks := mcp.Contents{mcp.Text(r.text)}
	if r.Truncated {
		blocks = append(blocks, mcp.Text(r.notice()))
	}
	return blocks
}

// notice says how to get the rest.
func (r *textRead) notice() string {
	if r.NextOffset > 0 {
		return fmt.Sprintf("[Cut after line %d. The file has %d bytes. Read on with offset=%d.]", r.LastLine, r.Size, r.NextOffset)
	}
	return fmt.Sprintf("[Cut. The file has %d bytes. Read on with byteOffset=%d.]", r.Size, r.NextByteOffset)
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

// filesRead is what was read of several files.
type filesRead struct {
	Files []fileRead `json:"files"`
	text  string
}

type fileRead struct {
	Path      string `json:"path"`
	OK        bool   `json:"ok" doc:"whether it could be read"`
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
			part = name + ": Error - left out, because this result is full: read it with read_text_file"
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
		if room < -c.MaxResult { // nothing but errors, and very many of them
			return out, fmt.Errorf("%d paths are too many for one result: ask for fewer", len(in.Paths))
		}
	}
	out.text = strings.Join(parts, "\n---\n")
	return out, nil
}

type pathArgs struct {
	Path string `json:"path" doc:"an absolute path, one relative to an allowed directory, or a file URI"`
}

// fileInfo is what is known of a file without reading it.
type fileInfo struct {
	Path        string `json:"path" doc:"where it really is"`
	URI         string `json:"uri" doc:"its URI as a resource"`
	Size        int64  `json:"size" doc:"in bytes"`
	Created     string `json:"created,omitzero" doc:"left out where the system does not know it"`
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

// directories are where the caller may go.
type directories struct {
	Directories []string `json:"directories"`
	ReadOnly    bool     `json:"readOnly" doc:"whether nothing can be changed there"`
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
