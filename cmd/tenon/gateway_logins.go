package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/weblogin"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
)

func (p *program) gatewayLoginsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "logins",
		Short: "List and remove the logins of users at servers",
		Long: `The users of a gateway log in to servers whose entry has "login": "user", and to
APIs whose file has "account: caller". Their tokens are encrypted with a key that
tenon.json names; see docs/gateway.md.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listLogins(cmd.Context()) },
	}
	p.sharedFlags(c, "logins", nil)
	remove := &cobra.Command{
		Use:   "remove SERVER [USER]",
		Short: "Remove the logins of a user at a server or an API, or of all its users",
		Long: `Remove logins. A gateway that runs asks the users to log in again. The tokens are
not revoked at the authorization server.`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.removeLogins(cmd.Context(), args) },
	}
	reseal := &cobra.Command{
		Use:   "reseal",
		Short: "Encrypt all logins with the first key, after a new one was added",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := p.gatewayLogins()
			if err != nil {
				return err
			}
			n, err := store.Reseal(cmd.Context())
			if err == nil {
				p.note("Encrypted %d entries with the first key.", n)
			}
			return err
		},
	}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the logins", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return p.listLogins(cmd.Context()) }},
		remove, reseal)
	return c
}

// A gatewayLogin is a login of a user at a server, or at an API that a builtin server
// wraps.
type gatewayLogin struct {
	*weblogin.Record
	API bool `json:"api,omitempty"`

	remove func(context.Context) error
}

// loginRecords returns the logins in the store.
func (p *program) loginRecords(ctx context.Context) ([]gatewayLogin, error) {
	store, err := p.gatewayLogins()
	if err != nil {
		return nil, err
	}
	keys, unreadable, err := store.Names(ctx)
	if err != nil {
		return nil, err
	}
	if unreadable > 0 {
		p.note("%d entries cannot be read with the configured key.", unreadable)
	}
	records, err := weblogin.Records(ctx, store, keys)
	if err != nil {
		return nil, err
	}
	var all []gatewayLogin
	for _, r := range records {
		all = append(all, gatewayLogin{Record: r, remove: func(ctx context.Context) error { return weblogin.Remove(ctx, store, r) }})
	}
	atAPIs, err := credential.Logins(ctx, store, keys)
	for _, l := range atAPIs {
		r := &weblogin.Record{Server: cmp.Or(l.API, "(unknown API)"), Issuer: l.Issuer, Subject: l.Subject, At: l.At}
		all = append(all, gatewayLogin{Record: r, API: true, remove: func(ctx context.Context) error { return l.Remove(ctx, store) }})
	}
	return all, err
}

func (p *program) listLogins(ctx context.Context) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	all, err := p.loginRecords(ctx)
	if err != nil {
		return err
	}
	switch out.Format {
	case show.JSONL:
		for _, r := range all {
			if err := out.Value(r); err != nil {
				return err
			}
		}
		return nil
	case show.Text:
	default:
		return out.Value(map[string]any{"logins": append([]gatewayLogin{}, all...)})
	}
	var rows [][]string
	for _, r := range all {
		since := ""
		if !r.At.IsZero() {
			since = r.At.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{r.Server, userOf(r.Record), r.Issuer, since})
	}
	return out.Table([]string{"server", "user", "issuer", "since"}, rows, "Nobody is logged in.")
}

func userOf(r *weblogin.Record) string {
	if r.Subject == "" {
		return "(this machine)"
	}
	return r.Subject
}

func (p *program) removeLogins(ctx context.Context, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return usagef("name the SERVER, and the USER if only one is meant")
	}
	all, err := p.loginRecords(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, r := range all {
		if r.Server != args[0] || len(args) == 2 && r.Subject != args[1] {
			continue
		}
		if err := r.remove(ctx); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		p.note("There is no such login.")
		return errFound
	}
	p.note("Removed %d. The tokens were not revoked at the authorization server.", n)
	return nil
}
