package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
)

func (p *program) apiKeyCommand() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "key NAME",
		Short: "Store the key of an API in the keyring",
		Long: `Store a key or token in the keyring of the operating system, where a file that
describes an API finds it as ${keyring:NAME}. The packs github, slack and orders
look for the entry of their own name. The key is asked for at the terminal, or is
the first line of standard input.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" || unfit().MatchString(args[0]) {
				return usagef("name one key, with letters, digits, _, . and -, such as orders")
			}
			name := args[0]
			if !hasKeyring() {
				return usagef("no keyring is available here; set an environment variable that the file names instead")
			}
			if remove {
				return p.keys.removeServer(name)
			}
			if p.interactive() {
				fmt.Fprintf(p.err, "The key for %s, which is not shown:\n", name)
			}
			key, err := p.secret(config.Input{Password: true})
			if key = strings.TrimSpace(key); key == "" && (err == nil || errors.Is(err, io.EOF)) {
				return usagef("the key is empty; nothing was stored")
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err := p.keys.setServer(name, key); err != nil {
				return fmt.Errorf("store the key in the keyring: %w", err)
			}
			p.note("Stored. Files that describe an API refer to it as ${keyring:%s}.", name)
			return nil
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the key from the keyring")
	return c
}
