package main

import (
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
)

// readiness lists what prevents the use of a configured server.
type readiness struct {
	Unset    []string `json:"unset,omitempty"`          // variables that it uses and that are not set
	Missing  string   `json:"missingProgram,omitempty"` // the program, where it is not found
	Approval approval `json:"approval,omitempty"`       // of a project's server
	Refused  string   `json:"refused,omitempty"`        // why it cannot be approved
}

// An approval is the state of the approval of a project's server.
type approval string

const (
	isApproved  approval = "approved"
	notApproved approval = "not approved"
	hasChanged  approval = "changed"
	isRefused   approval = "refused"
)

func (a approval) text() string {
	switch a {
	case hasChanged:
		return "changed since you approved it"
	case isRefused:
		return "cannot be approved"
	}
	return string(a)
}

// unopened is the placeholder for a secret in the keyring, which is not opened
// for a list.
func unopened(name string) (string, error) { return "${keyring:" + name + "}", nil }

// readiness checks an entry. It starts no server and asks nothing.
func (p *program) readiness(e config.Entry) readiness {
	var r readiness
	if e.Err != nil || e.Shadowed != "" {
		return r
	}
	if e.Source.Project {
		r.Approval = notApproved
	}
	c, err := config.Load(&config.Options{Dir: p.project, UserDir: p.userDir, Input: unanswered, Keyring: unopened})
	if err != nil {
		return r // the list itself says why
	}
	if r.Unset = c.Unset(e); len(r.Unset) > 0 {
		return r
	}
	s, err := c.Server(e.Name)
	if err != nil {
		return r
	}
	if s.Kind == config.Stdio && !strings.Contains(s.Command, "${input:") && s.Program() == "" {
		r.Missing = s.Command
	}
	_, v, err := p.verdict(s)
	switch {
	case !e.Source.Project:
	case v.Refused != "":
		r.Approval, r.Refused = isRefused, v.Refused
	case err == nil && (v.Approved || onlyFilledIn(s, v.Changed)):
		r.Approval = isApproved
	case err == nil && len(v.Changed) > 0:
		r.Approval = hasChanged
	}
	return r
}

// problems returns descriptions of what is wrong with a server.
func (l *listed) problems() []string {
	var all []string
	if l.Problem != "" {
		all = append(all, l.Problem)
	}
	if len(l.Unset) > 0 {
		all = append(all, "not set: "+strings.Join(l.Unset, ", "))
	}
	if l.Missing != "" {
		all = append(all, "program not found: "+l.Missing)
	}
	if l.Refused != "" {
		all = append(all, l.Refused)
	}
	if l.Approval == notApproved || l.Approval == hasChanged {
		all = append(all, "approve it with: tenon config approve "+l.Name)
	}
	return append(all, l.Warnings...)
}
