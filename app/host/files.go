package host

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	maxFile    = 5 << 20 // bytes of an attached file
	maxEntries = 200     // of an attached folder
)

// A named is a file that a message names.
type named struct {
	path        string // as it was typed
	first, last int    // lines; 0: all
}

// lines finds the lines at the end of the name of a file, as in main.go#L10-40.
var lines = regexp.MustCompile(`#L(\d{1,7})(?:-L?(\d{1,7}))?$`)

// files returns every @file of a message, in order: @path, or @"path" for a path
// with spaces. Words that may name a resource of a server are left out.
func (h *Host) files(text string) (found []named) {
	for at := range text {
		rest, ok := strings.CutPrefix(text[at:], "@")
		if !ok || at > 0 && !strings.ContainsRune(" \t\n(", rune(text[at-1])) {
			continue
		}
		if server, _ := h.addressed(rest); server != nil {
			continue
		}
		var word string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			var closed bool
			if word, _, closed = strings.Cut(quoted, `"`); !closed {
				continue
			}
		} else {
			word, _, _ = strings.Cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(rest), " ")
			word = strings.TrimRight(word, `,;:!?)]}"'`)
		}
		n := named{path: word}
		if m := lines.FindStringSubmatchIndex(word); m != nil {
			n.path = word[:m[0]]
			n.first, _ = strconv.Atoi(word[m[2]:m[3]])
			n.last = n.first
			if m[4] >= 0 {
				n.last, _ = strconv.Atoi(word[m[4]:m[5]])
			}
		}
		if n.path != "" {
			found = append(found, n)
		}
	}
	return found
}

// attachFile reads a file or folder that the user named. Without one, the word is
// only a word: parts is nil, and so is the error.
func (s *Session) attachFile(info llm.Info, n named) (parts []llm.Part, err error) {
	path, state := s.host.find(n.path)
	if state == nil {
		if strings.ContainsAny(n.path, `/\.`) {
			s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("There is no file %s, so nothing is attached.", visible.Line(n.path))})
		}
		return nil, nil
	}
	raw, err := mcp.Marshal(map[string]string{"path": path})
	if err != nil {
		return nil, err
	}
	call := &ToolCall{ID: s.nextCall(), Tool: "file", Arguments: raw, Rule: "You named it"}
	if err := s.audit(call, "read", "", 0); err != nil {
		return nil, fmt.Errorf("write the audit log: %w", err)
	}
	if state.IsDir() {
		parts, err = s.folderParts(path)
	} else {
		parts, err = s.fileParts(info, path, n)
	}
	if err == nil {
		s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("Attached %s.", s.host.safe(path))})
	}
	return parts, err
}

// find returns the file or folder of a path that is absolute, below the home
// folder, or relative to the working folder. Punctuation at the end may belong to
// the sentence.
func (h *Host) find(path string) (string, os.FileInfo) {
	for _, p := range []string{path, strings.TrimRight(path, ".")} {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				p = filepath.Join(home, rest)
			}
		}
		if !filepath.IsAbs(p) {
			if h.opts.Folder == "" || p == "" {
				continue
			}
			p = filepath.Join(h.opts.Folder, p)
		}
		if state, err := os.Stat(p); err == nil {
			return p, state
		}
	}
	return "", nil
}

// folderParts lists a folder.
func (s *Session) folderParts(path string) ([]llm.Part, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxEntries {
			b.WriteString("(and more)\n")
			break
		}
		b.WriteString(visible.Line(e.Name()))
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return []llm.Part{llm.Text(fenceAs("folder", path, s.host.safe(b.String())))}, nil
}

// fileParts reads a regular file: as media if the model accepts its type, and else
// as text.
func (s *Session) fileParts(info llm.Info, path string, n named) ([]llm.Part, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if err := imageAccepted(info, typeOf(path, data)); err != nil {
		return nil, err
	}
	if kind := typeOf(path, data); !utf8.Valid(data) || strings.HasPrefix(kind, "image/") && !strings.Contains(kind, "svg") || kind == "application/pdf" {
		return []llm.Part{llm.Text(fmt.Sprintf("[attached: %s]", s.host.safe(path))), blob(info, mcp.ResourceContents{URI: path, MIMEType: kind, Blob: data})}, nil
	}
	text, from := string(data), path
	if n.first > 0 {
		if text = linesOf(text, n.first, n.last); text == "" {
			return nil, fmt.Errorf("it has no line %d", n.first)
		}
		from = fmt.Sprintf("%s lines %d-%d", path, n.first, n.last)
	}
	short, _ := s.cut(from, s.host.safe(text))
	return []llm.Part{llm.Text(fenceAs("file", from, short))}, nil
}

// imageAccepted returns an error if the user attached an image that the model would
// not get.
func imageAccepted(info llm.Info, kind string) error {
	if !strings.HasPrefix(kind, "image/") || strings.Contains(kind, "svg") || info.Accepts.Images {
		return nil
	}
	if info.Provider == "none" {
		return errors.New("no model is connected that could look at an image")
	}
	return fmt.Errorf("%s does not accept images; choose another model with /model, or leave the image out", info)
}

// readFile reads a regular file of bounded size. Others, such as pipes, could block.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// typeOf returns the media type of a file.
func typeOf(path string, data []byte) string {
	kind := mime.TypeByExtension(filepath.Ext(path))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	return kind
}

// linesOf returns some lines of a text.
func linesOf(text string, first, last int) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n >= first && n <= last {
			b.WriteString(line)
		}
	}
	return b.String()
}
