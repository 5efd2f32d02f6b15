package host

import (
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"time"
)

// An Owner is a host that has sessions open, in this process or another.
type Owner struct {
	ID      string    `json:"id"` // different for each host
	PID     int       `json:"pid"`
	Machine string    `json:"machine"`
	Since   time.Time `json:"since"`
}

// owners are the ids of the hosts of this process.
var owners sync.Map

func newOwner() Owner {
	o := Owner{ID: rand.Text(), PID: os.Getpid(), Since: time.Now()}
	o.Machine, _ = os.Hostname() // without a name, all machines count as this one
	owners.Store(o.ID, true)
	return o
}

func (o Owner) end() { owners.Delete(o.ID) }

// Alive reports whether the host still runs. One on another machine counts as
// running.
func (o Owner) Alive() bool {
	if o.ID == "" {
		return false
	}
	if here, _ := os.Hostname(); o.Machine != here {
		return true
	}
	if o.PID == os.Getpid() { // this process, or an earlier one with the same id
		_, ok := owners.Load(o.ID)
		return ok
	}
	return processAlive(o.PID)
}

// String describes the owner for people.
func (o Owner) String() string {
	text := fmt.Sprintf("process %d", o.PID)
	if here, _ := os.Hostname(); o.Machine != here {
		text += " on " + o.Machine
	}
	return text + ", since " + o.Since.Local().Format("2006-01-02 15:04")
}
