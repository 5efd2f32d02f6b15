package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/visible"
)

func (p *program) authCommand() *cobra.Command {
	c := &cobra.Command{Use: "auth", Short: "Log in to servers, and store API keys of models", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(
		p.authKeyCommand(),
		&cobra.Command{
			Use:   "login SERVER",
			Short: "Log in to a server with the browser",
			RunE: func(cmd *cobra.Command, args []string) error {
				entry, _, err := p.account(cmd, args)
				if err != nil {
					return err
				}
				s, err := p.connect(cmd.Context(), entry, func(o *connect.Options) { o.NoLogin = false })
				if err != nil {
					return err
				}
				defer s.Close()
				if err := s.probe(cmd.Context()); err != nil {
					return err
				}
				p.note("Logged in to %s.", s.server.Name())
				return nil
			},
		},
		&cobra.Command{
			Use:   "logout SERVER",
			Short: "Log out of a server",
			RunE: func(cmd *cobra.Command, args []string) error {
				entry, store, err := p.account(cmd, args)
				if err != nil {
					return err
				}
				logins := login.New(&login.Options{Store: store})
				if in, err := logins.LoggedIn(cmd.Context(), entry.URL); err != nil || !in {
					p.note("You are not logged in to %s.", entry.Name)
					return err
				}
				if err := logins.Forget(cmd.Context(), entry.URL); err != nil {
					return err
				}
				p.note("Logged out of %s on this machine. The tokens were not revoked at the authorization server.", entry.Name)
				return nil
			},
		},
		&cobra.Command{
			Use:   "status SERVER",
			Short: "Show whether you are logged in",
			Long: `Show whether you are logged in. The exit code is 0 if the server accepts calls, 1
if it requires a login or rejects the credential, and 4 if it cannot be reached.`,
			RunE: func(cmd *cobra.Command, args []string) error {
				out, err := p.printer()
				if err != nil {
					return err
				}
				entry, _, err := p.account(cmd, args)
				if err != nil {
					return err
				}
				status, failure := "logged in, or no login required", error(nil)
				s, err := p.connect(cmd.Context(), entry, func(o *connect.Options) { o.NoLogin = true })
				if err == nil {
					err = s.probe(cmd.Context())
					s.Close()
				}
				if err != nil {
					status, failure = err.Error(), statusError(err)
				}
				if out.Format != show.Text {
					p.reported = true
					return firstError(out.Value(map[string]any{"server": entry.Name, "url": entry.URL, "ok": err == nil, "status": status}), failure)
				}
				if failure == nil || failure == errFound {
					fmt.Fprintf(p.out, "%s: %s\n", entry.Name, status)
				}
				return failure
			},
		},
	)
	return c
}

// statusError returns the error of auth status: errFound if the server wants a
// login or another credential, err if it failed otherwise.
func statusError(err error) error {
	_, login := errors.AsType[*connect.LoginError](err)
	_, credential := errors.AsType[*connect.CredentialError](err)
	if login || credential {
		return errFound
	}
	return err
}

// openLogin opens the login page in the browser if the user agrees. If there is
// no terminal to ask at, it returns an error, and the caller prints the address.
func (p *program) openLogin(ctx context.Context, server, page string) error {
	if !p.interactive() {
		return errors.New("not a terminal")
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	u, err := url.Parse(page)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.err, "%s asks you to log in at %s:\n  %s\n", visible.Line(server), p.stderr().Bold(visible.Line(u.Host)), visible.Line(page))
	yes, err := p.ask(ctx, "Open it in the browser? (yes/no) ")
	if err != nil {
		return err
	}
	if !yes {
		return errors.New("not opened")
	}
	return login.OpenBrowser(page)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// account returns the HTTP server on the command line and the store of logins.
func (p *program) account(cmd *cobra.Command, args []string) (config.Server, tokens.Store, error) {
	entry, _, err := p.target(cmd, args)
	if err != nil {
		return entry, nil, err
	}
	if entry.URL == "" {
		return entry, nil, usagef("%s is not an HTTP server: only HTTP servers have logins", entry.Name)
	}
	store, err := p.logins()
	return entry, store, err
}

// probe sends a cheap request, so that a server that requires a login rejects it.
func (s *session) probe(ctx context.Context) error {
	_, err := s.Discover(ctx)
	return err
}
