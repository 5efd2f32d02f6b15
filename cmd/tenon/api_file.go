package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/golden"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) apiCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE …",
		Short: "Check files that describe an API",
		Long: `Check files completely, as a server does when it starts: the format, every jq
expression and template, parameters and references to other parts of the file. All
mistakes are printed, each with its line and column. Nothing is sent, and secrets
need not be set.`,
		Example: "  tenon api check github orders",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing FILE")
			}
			bad := false
			var unread error
			for _, name := range args {
				c, err := apiConfig(name)
				if err != nil {
					unread = errors.Join(unread, err)
					continue
				}
				summary, err := api.Describe(c)
				if problems, ok := errors.AsType[*spec.Problems](err); ok {
					bad = true
					fmt.Fprintln(p.out, problems)
					continue
				}
				if err != nil {
					unread = errors.Join(unread, usageError{err})
					continue
				}
				fmt.Fprintf(p.out, "%s: ok: %s\n", name, summary)
			}
			if bad && unread == nil {
				return errFound
			}
			return unread
		},
	}
}

// apiConfig returns the configuration of a server for a file, or for a pack if
// there is no such file.
func apiConfig(name string) (api.Config, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && slices.Contains(packs.Names(), name) {
		data, _ := packs.File(name)
		return api.Config{Data: data, Name: name + ".yaml"}, nil
	} else if err != nil {
		return api.Config{}, noFile(name, err)
	}
	return api.Config{File: name}, nil
}

// noFile explains why a file that the user named cannot be read.
func noFile(name string, err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return usagef("cannot read %s: %w", name, err)
	}
	hint := ""
	if near := typo.Nearest(name, packs.Names()); near != "" {
		hint = fmt.Sprintf("; did you mean the pack %q?", near)
	}
	return usagef("there is no file %s%s", name, hint)
}

// apiServer returns the server of a file or a pack as other commands name it.
func apiServer(name, base string, private bool) string {
	kind, query := "api", url.Values{}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && slices.Contains(packs.Names(), name) {
		kind = name
	} else {
		query.Set("file", name)
	}
	if base != "" {
		query.Set("base", base)
	}
	if private {
		query.Set("private", "1")
	}
	if len(query) == 0 {
		return "builtin:" + kind
	}
	return "builtin:" + kind + "?" + query.Encode()
}

func (p *program) apiCallCommand() *cobra.Command {
	var base string
	var private bool
	c := p.callCommand()
	c.Use = "call FILE TOOL [name=value …]"
	c.Short = "Call a tool of a file that describes an API"
	c.Long = "Call a tool as tenon call does, with the server of a file: short for tenon call\nbuiltin:api?file=FILE."
	c.Example = "  tenon api call tracker.yaml list_issues owner=ada repo=tea --base https://example.com"
	call := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("missing FILE")
		}
		if _, err := apiConfig(args[0]); err != nil {
			return err
		}
		return call(cmd, append([]string{apiServer(args[0], base, private)}, args[1:]...))
	}
	c.Flags().StringVar(&base, "base", "", "send requests to this base `URL` instead of that of the file")
	c.Flags().BoolVar(&private, "private", false, "allow loopback and private networks")
	return c
}

func (p *program) apiTestCommand() *cobra.Command {
	var o golden.Options
	var recording, record string
	c := &cobra.Command{
		Use:   "test FILE",
		Short: "Run the cases of a file that describes an API",
		Long: `Run the cases below tests: in a file. Without flags nothing is sent: the answers are
those in the file, and secrets that are not set are replaced by the word test. With
--base the requests go to an API at that URL; cases with live: false are left out,
and exact results and texts are not compared, only check, error and asked.

--record writes the answers of a run with --base to a file, without credentials;
--recording uses such a file instead of the answers of the cases.`,
		Example: "  tenon api test orders\n  tenon api test tracker.yaml --base https://example.com --record answers.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one FILE")
			}
			c, err := apiConfig(args[0])
			if err != nil {
				return err
			}
			recorded := map[string][]spec.Answer{}
			if recording != "" {
				if err := readRecording(recording, &o); err != nil {
					return err
				}
			}
			if record != "" && o.Base == "" {
				return usagef("--record needs --base")
			}
			o.Record = func(name string, answers []spec.Answer) { recorded[name] = answers }
			outcomes, err := golden.Run(cmd.Context(), c, o)
			if problems, ok := errors.AsType[*spec.Problems](err); ok {
				fmt.Fprintln(p.out, problems)
				return errFound
			}
			if err != nil {
				return err
			}
			if record != "" {
				raw, err := json.MarshalIndent(recorded, "", "  ")
				if err == nil {
					err = os.WriteFile(record, append(raw, '\n'), 0o600)
				}
				if err != nil {
					return err
				}
			}
			if len(outcomes) == 0 && o.Only != "" {
				p.note("No case has %q in its name.", o.Only)
			} else if len(outcomes) == 0 {
				p.note("The file has no cases. Put them below tests.")
			}
			return p.printOutcomes(outcomes)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Base, "base", "", "send requests to this base `URL`")
	f.BoolVar(&o.Private, "private", false, "allow a base URL on loopback or a private network")
	f.StringVar(&recording, "recording", "", "use the answers in this `file`")
	f.StringVar(&record, "record", "", "write the answers to this `file`")
	f.StringVar(&o.Only, "run", "", "only cases whose name contains this `text`")
	return c
}

func readRecording(name string, o *golden.Options) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return noFile(name, err)
	}
	if err := mcp.Unmarshal(data, &o.Recording); err != nil {
		return usagef("%s is not a recording of tenon api test: %v", name, err)
	}
	return nil
}

// printOutcomes prints how cases ended, and returns errFound if one failed.
func (p *program) printOutcomes(outcomes []golden.Outcome) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	failed := 0
	for _, o := range outcomes {
		if len(o.Problems) > 0 {
			failed++
		}
	}
	if out.Format != show.Text {
		if err := out.Value(outcomes); err != nil {
			return err
		}
	} else {
		printCases(p, outcomes, failed)
	}
	if failed > 0 {
		return errFound
	}
	return nil
}

func printCases(p *program, outcomes []golden.Outcome, failed int) {
	skipped := 0
	for _, o := range outcomes {
		switch {
		case o.Skipped != "":
			skipped++
			fmt.Fprintf(p.out, "skip  %s (%s)\n", o.Name, o.Skipped)
		case len(o.Problems) == 0:
			fmt.Fprintf(p.out, "ok    %s\n", o.Name)
		default:
			fmt.Fprintf(p.out, "FAIL  %s\n", o.Name)
			for _, problem := range o.Problems {
				fmt.Fprintf(p.out, "      %s\n", problem)
			}
		}
	}
	fmt.Fprintf(p.out, "%d passed, %d failed, %d skipped\n", len(outcomes)-failed-skipped, failed, skipped)
}
