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
	c := &cobra.Command{Use: "audit", Short: "Verify and sign the audit log of tool calls", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check the audit log for changes",
		Long: `Check the hash chain of the audit log from the first line to the last, compare
its end with the head file beside it and, if the keyring has a key (see tenon
audit key), verify the signature.

What this proves: no line was changed, removed, inserted or cut off by accident,
or by someone who does not know the format. With a signature: nor by anyone
without the key, up to the last signed line.

What this does not prove: that the two files were not replaced together by older
copies, or deleted. Where that matters, keep the line count and the last hash on
another machine. Without a signature, anyone who can write both files can forge
the whole log.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.verifyAudit(args) },
	}, &cobra.Command{
		Use:   "key",
		Short: "Create a key in the keyring to sign the audit log",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return p.createAuditKey() },
	})
	return c
}

// auditFile returns the path of the configured audit log, or of the default one.
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
		p.note("warning: cannot check the signature: %v", err)
	}
	r, err := audit.Verify(file, &audit.Options{Key: key})
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("no audit log at %s: it is created by the first call; tenon up --workspace keeps its own in host/audit.jsonl of that folder", file)
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
		p.printAudit(out, file, r, err)
	}
	if err != nil {
		return errFound
	}
	return nil
}

// printAudit prints the result of a verification, and what it proves.
func (p *program) printAudit(out *show.Printer, file string, r audit.Report, err error) {
	if err != nil {
		fmt.Fprintln(p.out, out.Red("broken: ")+visible.Line(err.Error()))
	} else if r.Lines == 0 {
		fmt.Fprintf(p.out, "%s is intact, and has no records yet\n", visible.Line(file))
	} else {
		fmt.Fprintf(p.out, "%s is intact: %d lines, last hash %s\n", visible.Line(file), r.Lines, r.Hash)
	}
	if p.quiet {
		return
	}
	if r.Signed > 0 {
		fmt.Fprintf(p.out, "Lines 1 to %d match the signature made with the key %s of your keyring.\n", r.Signed, r.Key)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(p.out, visible.Line(n))
	}
	if err == nil && r.Lines > 0 {
		fmt.Fprintln(p.out, out.Dim("This does not show whether the log and its head file were replaced by older copies. Compare the line count and the hash with ones you saved elsewhere."))
	}
}

// createAuditKey creates the key that signs audit logs, unless it exists.
func (p *program) createAuditKey() error {
	if !hasKeyring() {
		return usagef("cannot sign the audit log: no keyring available")
	}
	have, err := p.keys.audit()
	if err != nil {
		return err
	}
	if have != nil {
		p.note("The keyring already has a key; the audit log is signed with it.")
		return nil
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := keyring.Set(auditService, auditUser, base64.StdEncoding.EncodeToString(key)); err != nil {
		return fmt.Errorf("store the key in the keyring: %w", err)
	}
	p.note("Created a key in your keyring (%s). The audit log is signed from the next call on.", auditService)
	return nil
}

// auditKey returns the key that signs the audit log of a host. It returns nil,
// and the log is not signed, without a key or a keyring.
func (p *program) auditKey() []byte {
	key, err := p.keys.audit()
	if err != nil {
		p.note("warning: the audit log is not signed: %v", err)
	}
	return key
}
