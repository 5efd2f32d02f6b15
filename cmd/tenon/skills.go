package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) skillsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "skills",
		Short: "List, show and verify a server's skills",
		Long: `A skill is a folder of instructions for a model that a server offers: a file
SKILL.md, and files that it refers to. SKILL is a skill's name, or its URI if the
server does not list it or has several of that name.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.skillsList(), p.skillsShow(), p.skillsVerify())
	return c
}

func (p *program) skillsList() *cobra.Command {
	return &cobra.Command{
		Use:     "list SERVER [SKILL …]",
		Short:   "List a server's skills, or show the entries of some in full",
		Long:    "List a server's skills, or show the entries of some in full: their files, digests\nand frontmatter. No file is read.",
		Example: "  tenon skills list 'builtin:notes?vault=notes'\n  tenon skills list 'builtin:notes?vault=notes' weekly-review",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			_, declared, err := s.skillSettings(ctx)
			if err != nil {
				return err
			}
			var all []*skills.Skill
			if declared {
				if all, err = client.All(skills.List(ctx, s.Client)); err != nil {
					return err
				}
			}
			if len(rest) == 0 {
				return out.Skills(all)
			}
			for _, name := range rest {
				found, err := s.skill(ctx, all, name)
				if err != nil {
					return err
				}
				if err := out.Skill(found); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

func (p *program) skillsShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show SERVER SKILL [FILE]",
		Short:   "Show the text of a skill, or of one of its files",
		Long:    "Show the SKILL.md of a skill, or another file of it, by its path in the skill. A\nfile that does not match the skill's entry is not shown.",
		Example: "  tenon skills show 'builtin:notes?vault=notes' weekly-review\n  tenon skills show 'builtin:notes?vault=notes' weekly-review references/template.md",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) == 0 || len(rest) > 2 {
				return usagef("missing SKILL; tenon skills list SERVER lists the skills")
			}
			all, err := s.skills(ctx)
			if err != nil {
				return err
			}
			found, err := s.skill(ctx, all, rest[0])
			if err != nil {
				return err
			}
			loaded, err := skills.Load(ctx, s.Client, found)
			if err != nil {
				return err
			}
			uri := found.URI
			if len(rest) == 2 {
				if uri, err = loaded.Resolve(rest[1]); err != nil {
					return err
				}
			}
			contents, err := loaded.Read(ctx, uri)
			if err != nil {
				return err
			}
			return out.Contents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{*contents}})
		}),
	}
}

func (p *program) skillsVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify SERVER [SKILL …]",
		Short: "Check that skills are what the server says",
		Long: `Read every file of skills and check them: valid entries, sizes, digests,
frontmatter, and folders that have no other files. Without SKILL, all skills that
the server lists are checked. The exit code is 1 if a skill has a problem.

Digests come from the same server as the files: they show that both belong
together, not that the server can be trusted.`,
		Example: "  tenon skills verify 'builtin:notes?vault=notes'\n  tenon skills verify https://example.com/mcp skill://pdf/SKILL.md --format json",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			settings, declared, err := s.skillSettings(ctx)
			if err != nil {
				return err
			}
			if !declared {
				return usagef("%s has no skills", s.server.Name())
			}
			checks, err := s.verifyAll(ctx, settings, rest)
			if err != nil {
				return err
			}
			if err := printChecks(out, checks); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c skillCheck) bool { return !c.OK }) {
				p.reported = true
				return errFound
			}
			return nil
		}),
	}
}

// skillSettings returns the settings of the extension, and whether the server
// declares it.
func (s *session) skillSettings(ctx context.Context) (skills.Settings, bool, error) {
	d, err := s.Discover(ctx)
	if err != nil {
		return skills.Settings{}, false, err
	}
	settings, declared := skills.Declared(d)
	return settings, declared, nil
}

// skills returns the skills that the server lists.
func (s *session) skills(ctx context.Context) ([]*skills.Skill, error) {
	_, declared, err := s.skillSettings(ctx)
	if err != nil {
		return nil, err
	}
	if !declared {
		return nil, usagef("%s has no skills", s.server.Name())
	}
	return client.All(skills.List(ctx, s.Client))
}

// skill returns a skill by its name or URI.
func (s *session) skill(ctx context.Context, all []*skills.Skill, name string) (*skills.Skill, error) {
	if strings.Contains(name, "://") {
		return skills.Get(ctx, s.Client, name)
	}
	var uris []string
	for _, one := range all {
		if one.Name() == name {
			uris = append(uris, one.URI)
		}
	}
	if len(uris) > 1 {
		return nil, usagef("%d skills are named %q; use one of the URIs %s", len(uris), name, strings.Join(uris, ", "))
	}
	return find(all, name, (*skills.Skill).Name, "skill")
}

// A skillCheck is the result of the verification of a skill.
type skillCheck struct {
	URI      string   `json:"uri"`
	Name     string   `json:"name,omitzero"`
	OK       bool     `json:"ok"`
	Dynamic  bool     `json:"dynamic,omitzero"`
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

// verifyAll checks the named skills, or all that the server lists, with those
// whose entries are invalid.
func (s *session) verifyAll(ctx context.Context, settings skills.Settings, names []string) ([]skillCheck, error) {
	var entries []*skills.Skill
	checks := []skillCheck{}
	uriOf := func(raw *json.RawMessage) string {
		uri, _ := rawjson.String(rawjson.Lookup(*raw, "uri"))
		return uri
	}
	for raw, err := range client.List(ctx, s.Client, skills.MethodList, nil, "skills", uriOf) {
		if err != nil {
			return nil, err
		}
		one := new(skills.Skill)
		if err := mcp.Unmarshal(*raw, one); err == nil {
			entries = append(entries, one)
		} else if len(names) == 0 {
			checks = append(checks, skillCheck{URI: uriOf(raw), Problems: []string{err.Error()}})
		}
	}
	if len(names) > 0 {
		listed := entries
		entries = nil
		for _, name := range names {
			one, err := s.skill(ctx, listed, name)
			if err != nil {
				return nil, err
			}
			entries = append(entries, one)
		}
	}
	for _, one := range entries {
		check, err := s.verify(ctx, settings, one)
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// verify checks a skill. The error is one of the connection.
func (s *session) verify(ctx context.Context, settings skills.Settings, one *skills.Skill) (skillCheck, error) {
	check := skillCheck{URI: one.URI, Name: one.Name(), Dynamic: one.Dynamic, Problems: []string{}}
	problem := func(err error) bool {
		if err != nil {
			check.Problems = append(check.Problems, err.Error())
		}
		return err != nil
	}
	now, err := skills.Get(ctx, s.Client, one.URI)
	if !problem(err) && !one.Dynamic && !now.Same(one) {
		problem(errors.New("skills/get returns other files than skills/list"))
	}
	loaded, err := skills.Load(ctx, s.Client, one)
	if ctx.Err() != nil {
		return check, ctx.Err()
	}
	if !problem(err) {
		for _, r := range one.Resources {
			_, err := loaded.Read(ctx, r.URI)
			problem(err)
			check.Files++
			check.Bytes += r.Size
		}
		if settings.DirectoryRead {
			problem(s.verifyDirectory(ctx, one, one.Dir(), 0))
		}
	}
	check.OK = len(check.Problems) == 0
	return check, ctx.Err()
}

// verifyDirectory checks that a folder of a skill has no file that the entry
// does not list.
func (s *session) verifyDirectory(ctx context.Context, one *skills.Skill, dir string, depth int) error {
	if depth > 50 {
		return fmt.Errorf("%s: the folders are nested more than 50 deep", dir)
	}
	for r, err := range skills.ReadDirectory(ctx, s.Client, dir) {
		switch {
		case err != nil:
			return fmt.Errorf("read the folder %s: %w", dir, err)
		case r.MIMEType == skills.DirectoryType:
			if !strings.HasPrefix(r.URI, dir+"/") {
				return fmt.Errorf("%s lists %s, which is not in it", dir, r.URI)
			}
			if err := s.verifyDirectory(ctx, one, r.URI, depth+1); err != nil {
				return err
			}
		case !one.Dynamic && one.Find(r.URI) == nil:
			return fmt.Errorf("%s lists %s, which the skill does not", dir, r.URI)
		}
	}
	return nil
}

func printChecks(out *show.Printer, checks []skillCheck) error {
	if out.Format != show.Text && out.Format != "" {
		return out.Value(map[string]any{"skills": checks})
	}
	for _, c := range checks {
		mark, about := out.Green("✓"), fmt.Sprintf("%d files, %s", c.Files, show.Bytes(c.Bytes))
		switch {
		case !c.OK:
			mark, about = out.Red("✗"), ""
		case c.Dynamic:
			about = "generated by the server: only its frontmatter was verified"
		case c.Files == 1:
			about = "1 file, " + show.Bytes(c.Bytes)
		}
		out.Wrap(strings.TrimSpace(fmt.Sprintf("%s %s  %s", mark, visible.Line(c.URI), about)), "", "  ")
		for _, problem := range c.Problems {
			out.Wrap(visible.Line(problem), "    ", "    ")
		}
	}
	return out.Err()
}
