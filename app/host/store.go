package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/ext/skills"
)

// A Store saves sessions. Several processes may use the same one: only the owner
// of a session writes it, and each Save writes only changes.
type Store interface {
	// Save writes the changes of a session. The error is a *OpenElsewhereError if
	// u.Owner does not own the session, and wraps ErrNoSession if it was deleted.
	Save(u *Update) error

	// Claim makes o the owner of a session and returns the session. If the
	// previous owner still runs, the error is a *OpenElsewhereError, unless
	// takeOver is set.
	Claim(id string, o Owner, takeOver bool) (*Saved, error)

	// Release ends the ownership of o.
	Release(id string, o Owner) error

	// Owner returns the owner of a session, the zero Owner if it has none. The
	// error wraps ErrNoSession if there is no such session.
	Owner(id string) (Owner, error)

	// Load returns a session. The error wraps ErrNoSession if there is none.
	Load(id string) (*Saved, error)

	List() ([]Summary, error)
	Delete(id string) error
}

// Saved is the saved part of a session.
type Saved struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage"`
	Turns   int       `json:"turns,omitzero"`
	Sources []string  `json:"sources,omitzero"` // servers whose data is in the conversation
	Folder  string    `json:"folder,omitzero"`  // the user's working folder
	OneShot bool      `json:"oneShot,omitzero"` // a single turn without a user

	// Marks are the turns of the user, oldest first.
	Marks []TurnMark `json:"marks,omitzero"`

	// Queued are the messages that wait.
	Queued []Queued `json:"queued,omitzero"`

	// Undone are the turns that Undo removed since the last message, latest last.
	Undone []UndoneTurn `json:"undone,omitzero"`

	// Skills are the skills that the model has loaded, as they were then.
	Skills []SavedSkill `json:"skills,omitzero"`

	// Started are the calls that were made and have no result yet: ids and
	// descriptions.
	Started map[string]string `json:"started,omitzero"`

	// Stop is how the last turn ended, unless the model ended it, and Problem the
	// error if it failed.
	Stop    string `json:"stop,omitzero"`
	Problem string `json:"problem,omitzero"`

	Rows    []Row                      `json:"-"` // the conversation, in order
	Handles map[string]json.RawMessage `json:"-"` // texts of which the model got a part
}

// A TurnMark is where a turn begins.
type TurnMark struct {
	Row  int64  `json:"row"`           // Row.Seq of the user's message; -1 if it was summarized
	Text string `json:"text,omitzero"` // what the user typed, if the row has something else
}

// A SavedSkill is a loaded skill. One that its server generates is not saved.
type SavedSkill struct {
	Server string        `json:"server"`
	Entry  *skills.Skill `json:"entry"`
}

// A Row is one message of a conversation, or one result of a message that has
// several. Seq orders rows and never changes.
type Row struct {
	Seq     int64       `json:"seq"`
	Message llm.Message `json:"message"`
}

// An Update has the changes of a session since it was saved: all fields of Saved,
// where Rows and Handles have only the new and changed ones.
type Update struct {
	Saved
	Drop  []int64 // removed rows
	Owner Owner
	New   bool // the session was never saved
}

// A Summary is an entry in a list of sessions.
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

// ErrNoSession reports that a session does not exist.
var ErrNoSession = errors.New("no such session")

// An OpenElsewhereError reports that another process has a session open.
type OpenElsewhereError struct {
	Session string
	Owner   Owner
}

func (e *OpenElsewhereError) Error() string {
	return fmt.Sprintf("session %s is open in %s. Take it over, or continue in a copy", e.Session, e.Owner)
}
