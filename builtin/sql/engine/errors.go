package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/redact"
)

// A Refusal is the error for a statement that was not run, or was rolled
// back, because it might write or is not exactly one statement.
type Refusal struct {
	Why    string
	Advice string // may be empty
}

func (r *Refusal) Error() string {
	if r.Advice == "" {
		return "refused: " + r.Why
	}
	return "refused: " + r.Why + ". " + r.Advice
}

// ReadOnly returns the Refusal of a statement that would write.
func ReadOnly(message string) error {
	return &Refusal{Why: message, Advice: "run_query is read-only"}
}

// An Unreachable is the error for a database that cannot be reached.
type Unreachable struct {
	Location string
	Err      error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("connect to %s: %v. Nothing was run; try again later", u.Location, u.Err)
}

func (u *Unreachable) Unwrap() error { return u.Err }

// LoginRefused returns the error for a database that rejects the login.
func LoginRefused(location, message string) error {
	return fmt.Errorf("log in to %s: %s. Nothing was run; correct the user, password or database name in the dsn", location, message)
}

// Ended returns an error that explains why a statement was cancelled, if its
// context has ended, and err otherwise.
func Ended(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, Enough):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("the statement timed out and was cancelled. Narrow it (WHERE, LIMIT), check its plan with explain, or raise timeoutSeconds")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// Redact removes the password from a connection error: where the error has
// the form of a DSN, and elsewhere only if the password is a separate word
// and too long to occur by chance. Removing every text that equals the
// password would reveal it. Do not use Redact for errors of statements: they
// contain no password, and a caller could use them to guess it.
func Redact(err error, password string) error {
	if err == nil {
		return nil
	}
	var known *redact.Values
	if len(password) >= minRedacted {
		known = redact.New(password)
	}
	text := err.Error()
	clean := known.DSNs(text)
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// minRedacted is the minimum length of a password that is unlikely to occur
// by chance.
const minRedacted = 12

// TooLarge returns the error for a statement that sent more than limit bytes.
func TooLarge(limit int) error {
	return fmt.Errorf("the statement was cancelled: its result is larger than %d MiB. Select fewer or shorter columns, such as substr(column, 1, 1000) and length(column)", limit>>20)
}

// Grace is how long a cancelled statement may take to end before its
// connection is closed.
const Grace = 2 * time.Second
