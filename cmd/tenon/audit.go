package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/visible"
)

func (p *program) auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Look after the log of what was called", Args: noWords, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that nothing was changed in, cut off, taken out of or put into the audit log",
		Long: `Read the audit log from its beginning, check that each line follows on the one
before, and compare the end with the head file beside it and, if there is a key
in the keyring (tenon audit key), with its signature.

What it proves: no line was changed, taken out, put in or cut off by accident, or
by somebody who does not know how the log is made. With the signature: nor by
anybody who does not have the key, up to the last line that is signed.

What it does not prove: that both files are not an older copy, put back together,
and that nobody has deleted both. Keep the number of lines and the last hash on
another machine where that matters. Without a signature, somebody who may write
both files could have made up the whole log.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.verifyAudit(args) },
	}, &cobra.Command{
		Use:   "key",
		Short: "Make a key in the keyring that signs the audit log from now on",
		Args:  noWords,
		RunE:  func(*cobra.Command, []string) error { return p.makeAuditKey() },
	})
	return c
}

// auditFile is the log that the configuration names, or the default one.
func (p *program) auditFile() (string, error) {
	dir, err := p.hostDir("")
	if err != nil {
		return "", err
	}
	c, err := p.config()
	if err != nil {
		return "", err
	}
	if set := c.Settings().Audit.File; set != "" {
		return set, nil
	}
	return workspace.AuditFile(dir), nil
}

func (p *program) verifyAudit(args []string) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	file, err := p.auditFile()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		file = args[0]
	}
	key, err := p.keys.audit()
	if err != nil {
		p.note("warning: the signature cannot be checked: %v", err)
	}
	r, err := audit.Verify(file, &audit.Options{Key: key})
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no audit log at %s: it begins with the first call; that of tenon up --workspace is there, as host/audit.jsonl", file)
	}
	if out.Format != show.Text {
		result := map[string]any{"file": file, "lines": r.Lines, "hash": r.Hash, "ok": err == nil, "signedLines": r.Signed, "notes": append([]string{}, r.Notes...)}
		if err != nil {
			result["problem"] = err.Error()
		}
		if e := out.Value(result); e != nil {
			return e
		}
	} else {
		p.tellAudit(out, file, r, err)
	}
	if err != nil {
		return errFound
	}
	return nil
}

// tellAudit says what was found in a log, and what that proves.
func (p *program) tellAudit(out *show.Printer, file string, r audit.Report, err error) {
	if err != nil {
		fmt.Fprintln(p.out, out.Red("broken: ")+visible.Line(err.Error()))
	} else {
		fmt.Fprintf(p.out, "%s is whole: %d lines, the last has the hash %s\n", visible.Line(file), r.Lines, r.Hash)
	}
	if p.quiet {
		return
	}
	if r.Signed > 0 {
		fmt.Fprintf(p.out, "Lines 1 to %d are as they were signed with the key %s of your keyring.\n", r.Signed, r.Key)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(p.out, visible.Line(n))
	}
	if err == nil && r.Lines > 0 {
		fmt.Fprintln(p.out, out.Dim("Not proven: that the log and its head file are not an older copy. Compare the number and the hash with those that you noted elsewhere."))
	}
}

// makeAuditKey makes the key that signs audit logs, unless there is one.
func (p *program) makeAuditKey() error {
	if !hasKeyring() {
		return usagef("there is no keyring that can be reached from here, so the audit log cannot be signed")
	}
	have, err := p.keys.audit()
	if err != nil {
		return err
	}
	if have != nil {
		p.note("There is a key already; the audit log is signed with it.")
		return nil
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := keyring.Set(auditService, auditUser, base64.StdEncoding.EncodeToString(key)); err != nil {
		return fmt.Errorf("keep the key in the keyring: %w", err)
	}
	p.note("The key is in your keyring (%s). The audit log is signed with it from the next call on.", auditService)
	return nil
}

// auditKey is the key for the log of a host. Without one, or without a keyring,
// the log is not signed.
func (p *program) auditKey() []byte {
	key, err := p.keys.audit()
	if err != nil {
		p.note("warning: the audit log is not signed: %v", err)
	}
	return key
}
