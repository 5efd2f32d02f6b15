package credential

import (
	"errors"
	"fmt"
	"strings"
)

// errMissing is wrapped by the error for a reference without a value, and
// errNoKeyring by that for one in a keyring where there is none.
var (
	errMissing   = errors.New("is not set")
	errNoKeyring = fmt.Errorf("%w: no keyring is available here", errMissing)
)

// An unset is the error of a reference without a value.
type unset struct {
	kind, name string
	cause      error
}

func (u *unset) Error() string { return fmt.Sprintf("${%s:%s} %v", u.kind, u.name, u.cause) }
func (u *unset) Unwrap() error { return u.cause }

// advice returns what to do so that the reference has a value.
func (u *unset) advice() string {
	switch {
	case u.kind == "file":
		return "write it to the file " + u.name
	case errors.Is(u.cause, errNoKeyring):
		return fmt.Sprintf("it is the entry %s of a keyring, and there is no keyring here", u.name)
	case u.kind == "keyring":
		return fmt.Sprintf(`store it in the keyring with "tenon api key %s"`, u.name)
	}
	return "set the environment variable " + u.name
}

// A MissingError says that no credential of a file has all its values, and what to
// do.
type MissingError struct {
	service string
	reasons []error // why each credential cannot be used
}

func (e *MissingError) Error() string {
	var advice, keyrings []string
	for _, reason := range e.reasons {
		all := unsets(reason)
		switch {
		case len(all) == 0:
			advice = append(advice, reason.Error())
		case errors.Is(reason, errNoKeyring):
			keyrings = append(keyrings, adviceFor(all))
		default:
			advice = append(advice, adviceFor(all))
		}
	}
	if len(advice) == 0 {
		advice = keyrings
	}
	return fmt.Sprintf("no credential for %s: %s", e.service, strings.Join(advice, ", or "))
}

// Permanent reports true: somebody has to set a value.
func (*MissingError) Permanent() bool { return true }

// adviceFor returns what to do so that all references have values.
func adviceFor(all []*unset) string {
	var steps, variables []string
	for _, u := range all {
		if u.kind == "env" {
			variables = append(variables, u.name)
		} else {
			steps = append(steps, u.advice())
		}
	}
	if len(variables) == 1 {
		steps = append([]string{"set the environment variable " + variables[0]}, steps...)
	} else if n := len(variables) - 1; n > 0 {
		steps = append([]string{"set the environment variables " + strings.Join(variables[:n], ", ") + " and " + variables[n]}, steps...)
	}
	return strings.Join(steps, " and ")
}

// unsets returns the references without a value in an error, each once.
func unsets(err error) (all []*unset) {
	switch e := err.(type) {
	case *unset:
		return []*unset{e}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, unsets(inner)...)
		}
	case interface{ Unwrap() error }:
		return unsets(e.Unwrap())
	}
	seen := map[string]bool{}
	kept := all[:0]
	for _, u := range all {
		if !seen[u.Error()] {
			seen[u.Error()] = true
			kept = append(kept, u)
		}
	}
	return kept
}
