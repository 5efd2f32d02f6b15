package main

import "github.com/spf13/cobra"

// apiCommand is the parent of the commands for files that describe an API.
func (p *program) apiCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "api",
		Short: "Wrap an HTTP API as a server, with a file",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.apiCheckCommand(), p.apiCallCommand(), p.apiTestCommand(), p.apiDraftCommand(), p.apiKeyCommand())
	return c
}
