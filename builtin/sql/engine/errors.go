package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/redact"
)

// A Refusal is the error of a statement that was not run, or was undone,
// because it could have changed something or is not one statement.
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

// ReadOnly is the refusal of a statement that would write.
func ReadOnly(said string) error {
	return &Refusal{Why: said, Advice: "run_query only reads, and the database itself enforces it"}
}

// An Unreachable is the error of a database that does not answer.
type Unreachable struct {
	Place string
	Err   error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach %s: %v. Nothing was run; try again when it is back", u.Place, u.Err)
}

func (u *Unreachable) Unwrap() error { return u.Err }

// LoginRefused is the error of a database that answers, and lets nobody in.
func LoginRefused(place, said string) error {
	return fmt.Errorf("%s does not let this server in: %s. Nothing was run; the user, the password and the name of the database in its dsn have to be put right", place, said)
}

// Ended says in words why a statement was ended, if it was ended because of
// its context, and returns err otherwise.
func Ended(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, Enough):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("the statement took too long and was cancelled in the database. Narrow it (WHERE, LIMIT), look at its plan with explain, or give it more time")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// Redact takes the password out of the error of a connection: where its place
// tells that it is one, and else only if it is too long to be met by chance.
// Taking out every text that happens to be the password would tell what it is.
// Errors of statements are not for Redact: no password is in them, and the author
// of a statement could guess passwords with it.
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

// minRedacted is how long a password must be not to be met by chance.
const minRedacted = 12

// TooLarge says that a statement sent more than it may.
func TooLarge(limit int) error {
	return fmt.Errorf("the database sent more than %d MiB for one statement, and it was cancelled: select fewer or shorter columns, such as substr(column, 1, 1000) and length(column)", limit>>20)
}

// Grace is how long after its context a statement may take to end before its
// connection is given up.
const Grace = 2 * time.Second
