package term

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/term/internal/draw"
)

// A pastedMsg has the file of an image that was in the clipboard.
type pastedMsg struct {
	file string
	err  error
}

// pasteImage attaches the image in the clipboard to the message.
func (s *screen) pasteImage() tea.Cmd {
	ctx, dir := s.t.ctx, s.t.o.Pasted
	return func() tea.Msg {
		data, err := clipboardImage(ctx)
		if err != nil {
			return pastedMsg{err: err}
		}
		file, err := savePasted(dir, data)
		return pastedMsg{file, err}
	}
}

// pasted inserts the name of the file at the cursor.
func (s *screen) pasted(m pastedMsg) {
	if m.err != nil {
		s.hint = m.err.Error()
		return
	}
	s.input.insert(attachable(m.file))
	s.hint = "The image in the clipboard is attached"
}

// keptPasted is how long files of pasted images are kept: messages that wait and
// sessions that are continued name them.
const keptPasted = 7 * 24 * time.Hour

// savePasted writes an image to a file of the folder, which only the user can read,
// and removes old ones.
func savePasted(dir string, data []byte) (file string, err error) {
	if dir == "" {
		dir = os.TempDir()
	} else {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		old, _ := filepath.Glob(filepath.Join(dir, "pasted-*.png"))
		for _, name := range old {
			if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > keptPasted {
				os.Remove(name)
			}
		}
	}
	f, err := os.CreateTemp(dir, "pasted-*.png")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// An imageClipboard is a program that writes the image in the clipboard to its
// standard output as a PNG, in some form.
type imageClipboard struct {
	words []string
	needs string // an environment variable
	read  func(out []byte) ([]byte, error)
}

var imageClipboards = []imageClipboard{
	{words: []string{"osascript", "-e", "the clipboard as «class PNGf»"}, read: func(out []byte) ([]byte, error) {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(out)), "«data PNGf"), "»")
		return hex.DecodeString(text)
	}},
	{words: []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command",
		"Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[Windows.Forms.Clipboard]::GetImage(); if ($i) { $m=New-Object IO.MemoryStream; $i.Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }"},
		read: func(out []byte) ([]byte, error) {
			return base64.StdEncoding.DecodeString(strings.TrimSpace(string(out)))
		}},
	{words: []string{"wl-paste", "--no-newline", "--type", "image/png"}, needs: "WAYLAND_DISPLAY"},
	{words: []string{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"}, needs: "DISPLAY"},
}

// clipboardImage returns the image in the clipboard as a PNG, with the first program
// that can be used here.
func clipboardImage(ctx context.Context) ([]byte, error) {
	if os.Getenv("SSH_CONNECTION") != "" || os.Getenv("SSH_TTY") != "" {
		return nil, errors.New("the clipboard of another machine cannot be read; attach a file with @path")
	}
	for _, c := range imageClipboards {
		if c.needs != "" && os.Getenv(c.needs) == "" {
			continue
		}
		path, err := exec.LookPath(c.words[0])
		if err != nil {
			continue
		}
		ctx, stop := context.WithTimeout(ctx, 10*time.Second)
		defer stop()
		var out bounded
		cmd := exec.CommandContext(ctx, path, c.words[1:]...)
		cmd.Stdout = &out
		cmd.WaitDelay = time.Second
		err = cmd.Run()
		data := out.Bytes()
		if err == nil && c.read != nil {
			data, err = c.read(data)
		}
		if err != nil || len(data) == 0 {
			if out.over {
				return nil, fmt.Errorf("the image in the clipboard is larger than %d MiB", draw.MostBytes>>20)
			}
			return nil, errors.New("no image in the clipboard")
		}
		if _, err := draw.Decode(data); err != nil {
			return nil, fmt.Errorf("the image in the clipboard cannot be used: %w", err)
		}
		return data, nil
	}
	return nil, errors.New("no program reads images from the clipboard here (wl-paste, xclip); attach a file with @path")
}

// bounded is a buffer for the output of a program, which may write images in text.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > 2*draw.MostBytes+1024 {
		b.over = true
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}
