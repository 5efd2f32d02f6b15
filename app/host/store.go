package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// A Store keeps sessions from one run to the next. Several processes may use the
// same one: a session is written by its owner only, and each Save writes what has
// changed and nothing else.
type Store interface {
	// Save writes the changes of a session. The error is a *OpenElsewhereError
	// if the session is not, or no longer, owned by u.Owner, and wraps
	// ErrNoSession if it was deleted.
	Save(u *Update) error

	// Claim makes o the owner of a session and returns all of it. If the owner
	// before is still alive, the error is a *OpenElsewhereError, unless
	// takeOver is set.
	Claim(id string, o Owner, takeOver bool) (*Saved, error)

	// Release ends the ownership of o.
	Release(id string, o Owner) error

	// Load returns all of a session. The error wraps ErrNoSession if there is
	// none.
	Load(id string) (*Saved, error)

	List() ([]Summary, error)
	Delete(id string) error
}

// Saved is all of a session that outlives a process.
type Saved struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage"`
	Turns   int       `json:"turns,omitzero"`
	Sources []string  `json:"sources,omitzero"` // servers whose data is in the conversation
	Folder  string    `json:"folder,omitzero"`  // where the person worked
	OneShot bool      `json:"oneShot,omitzero"` // a single turn without a person

	// Started are the calls that were made and have no result yet: their ids,
	// and what they call.
	Started map[string]string `json:"started,omitzero"`

	Rows    []Row                      `json:"-"` // the conversation, in order
	Handles map[string]json.RawMessage `json:"-"` // results that the model got a part of
}

// A Row is one message of a conversation, or one result of a message that has
// several. Seq orders rows and never changes.
type Row struct {
	Seq     int64
	Message llm.Message
}

// An Update is what has changed in a session since it was saved: all fields of
// Saved but Rows and Handles, which hold only those that are new or different.
type Update struct {
	Saved
	Drop  []int64 // rows that are gone
	Owner Owner
	New   bool // the session has not been saved before
}

// A Summary is a session in a list.
type Summary struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Model   string    `json:"model"`
	Turns   int       `json:"turns"`
	Usage   llm.Usage `json:"usage"`
	Folder  string    `json:"folder,omitzero"`
	OneShot bool      `json:"oneShot,omitzero"`
}

// ErrNoSession says that a session does not exist.
var ErrNoSession = errors.New("no such session")

// An OpenElsewhereError says that another process has a session open.
type OpenElsewhereError struct {
	Session string
	Owner   Owner
}

func (e *OpenElsewhereError) Error() string {
	return fmt.Sprintf("session %s is open in %s. Take it over, or continue in a copy", e.Session, e.Owner)
}
