package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/show"
)

func (p *program) authKeyCommand() *cobra.Command {
	remove, unchecked := false, false
	c := &cobra.Command{
		Use:   "key [PROVIDER]",
		Short: "Store the API key of a model provider in the keyring",
		Long: `Store the API key of a model provider in the keyring of the operating system. The
key is read without echo at a terminal, and otherwise from standard input:

  tenon auth key anthropic
  pass show openai | tenon auth key openai

The provider is asked whether it accepts the key before it is stored. The key is
sent only to the host of the provider at that time; after a change of its baseURL
in tenon.json, store the key again.

Without PROVIDER, list the providers and where their keys are.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := p.config(); err != nil {
				return err
			}
			if len(args) == 0 {
				if remove || unchecked {
					return usagef("name a provider")
				}
				return p.listKeys()
			}
			at, err := choose.Lookup(args[0], p.modelOptions())
			if err != nil {
				return usageError{err}
			}
			if remove {
				return p.removeKey(at)
			}
			return p.storeKey(cmd.Context(), at, unchecked)
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the key from the keyring")
	c.Flags().BoolVar(&unchecked, "no-check", false, "store the key without asking the provider")
	return c
}

// keyPlace is a row of tenon auth key.
type keyPlace struct {
	Provider string `json:"provider"`
	Where    string `json:"where,omitzero"`
	Problem  string `json:"problem,omitzero"`
}

func (p *program) listKeys() error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	var list []keyPlace
	var rows [][]string
	o := p.modelOptions()
	for _, k := range choose.All(o) {
		one := keyPlace{Provider: k.Name}
		key, where, err := choose.FindKey(k.Name, o)
		text := where
		switch {
		case err != nil:
			one.Problem = err.Error()
			text = one.Problem
		case key != "":
			one.Where = where
		case k.Local || k.Keyless:
			text = "none needed"
		default:
			text = "none"
		}
		list, rows = append(list, one), append(rows, []string{k.Name, text})
	}
	if out.Format != show.Text {
		return out.Value(map[string]any{"keys": list})
	}
	return out.Table([]string{"PROVIDER", "KEY"}, rows, "")
}

// withoutKeyring says what to do without a keyring.
func withoutKeyring(at choose.Provider) error {
	set := ""
	if len(at.KeyVariables) > 0 {
		set = "set " + at.KeyVariables[0] + ", or "
	}
	return usagef("%w: %sput the key into a file that only you can read, and refer to it in tenon.json: {\"providers\": {%q: {\"key\": \"${file:PATH}\"}}}", errNoKeyring, set, at.Name)
}

func (p *program) storeKey(ctx context.Context, at choose.Provider, unchecked bool) error {
	if at.Problem != "" {
		return usageError{errors.New(at.Problem)}
	}
	if at.FindKey != nil && at.KeyringName == "" {
		return usagef("the key of %s is set in tenon.json, so a key in the keyring would not be used; remove \"key\" there, or set it to \"${keyring:%s}\"", at.Name, at.Name)
	}
	if !hasKeyring() {
		return withoutKeyring(at)
	}
	prompt := ""
	if p.interactive() {
		prompt = fmt.Sprintf("API key of %s (not shown): ", at.Name)
	}
	text, err := p.lines().ReadSecret(ctx, prompt)
	if err != nil {
		return err
	}
	key := strings.TrimSpace(text)
	p.secrets.Add("model "+at.Name, key)
	if err := config.CheckKey(key); err != nil {
		return usagef("the key %w", err)
	}
	if !unchecked {
		if err := choose.Check(ctx, at.Name, key, p.modelOptions()); err != nil {
			if llm.KindOf(err) != llm.ErrAuth {
				err = fmt.Errorf("%w; --no-check stores the key without asking", err)
			}
			return err
		}
	}
	if err := p.keys.setModel(at.KeyringEntry(), key); err != nil {
		return fmt.Errorf("store the key in the keyring: %w", err)
	}
	p.note("The key of %s is in your keyring (service %s, entry %s).", at.Name, keyService, at.KeyringEntry())
	for _, v := range at.KeyVariables {
		if value, ok := os.LookupEnv(v); ok && value != "" {
			p.note("%s is set and is used instead; unset it to use the keyring.", v)
		}
	}
	return nil
}

func (p *program) removeKey(at choose.Provider) error {
	if !hasKeyring() {
		return usageError{errNoKeyring}
	}
	had, err := p.keys.removeModel(at.KeyringEntry())
	if err != nil {
		return fmt.Errorf("remove the key from the keyring: %w", err)
	}
	if !had {
		p.note("The keyring has no key of %s.", at.Name)
		return nil
	}
	p.note("The key of %s is removed from your keyring.", at.Name)
	return nil
}
