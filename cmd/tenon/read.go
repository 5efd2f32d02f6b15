package main

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) readCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "read SERVER URI",
		Short: "Read a resource",
		Long: `Read a resource. Text is printed unchanged; binary contents are written only to a
file (--output) or a pipe.`,
		Example: "  tenon read builtin:calc welcome://ada\n  tenon read 'builtin:notes?vault=notes' obsidian://note/Plan.md",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) != 1 {
				return usagef("missing URI; tenon resources SERVER lists the resources")
			}
			r, err := s.ReadResource(ctx, rest[0])
			if err != nil {
				return err
			}
			if to != "" {
				return os.WriteFile(to, show.Bare(r.Contents), 0o644)
			}
			return out.Contents(r)
		}),
	}
	c.Flags().StringVarP(&to, "output", "o", "", "write the contents to this `file`")
	return c
}

// saveContents writes the binary contents of a result to files of a folder. It
// chooses the file names itself, never the server.
func saveContents(dir string, r *mcp.CallToolResult, saved func(file string)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var errs []error
	for i, c := range r.Content {
		var data []byte
		var kind string
		switch c := c.(type) {
		case *mcp.ImageContent:
			data, kind = c.Data, c.MIMEType
		case *mcp.AudioContent:
			data, kind = c.Data, c.MIMEType
		case *mcp.EmbeddedResource:
			data, kind = c.Resource.Blob, c.Resource.MIMEType
		}
		if data == nil {
			continue
		}
		name := filepath.Join(dir, fmt.Sprintf("%d%s", i+1, extension(kind)))
		err := os.WriteFile(name, data, 0o644)
		if err == nil {
			saved(name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func extension(kind string) string {
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	}
	all, err := mime.ExtensionsByType(kind)
	if err != nil || len(all) == 0 {
		return ".bin"
	}
	return all[0]
}

func (p *program) promptCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "prompt SERVER NAME [name=value …]",
		Short:   "Fill in a prompt and show its messages",
		Example: "  tenon prompt 'builtin:notes?vault=notes' meeting_summary path=Plan.md",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) == 0 {
				return usagef("missing NAME; tenon prompts SERVER lists the prompts")
			}
			filled, err := texts(rest[1:])
			if err != nil {
				return err
			}
			r, err := s.GetPrompt(ctx, rest[0], filled)
			if err != nil {
				return err
			}
			return out.Prompt(r)
		}),
	}
}

// texts parses name=value arguments whose values are text.
func texts(words []string) (map[string]string, error) {
	all := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, usagef("%q must be name=value", w)
		}
		all[name] = value
	}
	return all, nil
}

func (p *program) completeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "complete SERVER PROMPT|TEMPLATE NAME[=BEGINNING] [name=value …]",
		Short: "Complete an argument of a prompt or resource template",
		Long: `Ask a server for completions of an argument. A reference that contains a brace or
a colon is a resource template, any other a prompt. The first name=value is the
argument to complete; the others are arguments that are already set.`,
		Example: "  tenon complete 'builtin:notes?vault=notes' 'obsidian://note/{+path}' path=Pl",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) < 2 {
				return usagef("missing PROMPT or TEMPLATE, and NAME=BEGINNING")
			}
			ref := mcp.CompletionRef{Type: mcp.RefPrompt, Name: rest[0]}
			if strings.ContainsAny(rest[0], "{:") {
				ref = mcp.CompletionRef{Type: mcp.RefResource, URI: rest[0]}
			}
			name, value, _ := strings.Cut(rest[1], "=")
			q := mcp.CompleteParams{Ref: ref, Argument: mcp.CompletionArgument{Name: name, Value: value}}
			if len(rest) > 2 {
				known, err := texts(rest[2:])
				if err != nil {
					return err
				}
				q.Context = &mcp.CompletionContext{Arguments: known}
			}
			c, err := s.Complete(ctx, q)
			if err != nil {
				return err
			}
			return out.Completion(c)
		}),
	}
}
