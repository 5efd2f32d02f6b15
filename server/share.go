package server

import (
	"github.com/tenon-mcp/tenon/mcp"
)

// A ChangeTopic carries changes between the instances of one service. A
// cluster.Topic is one.
type ChangeTopic interface {
	// Publish sends data to all other instances.
	Publish(data []byte)
	// Subscribe calls receive with data that other instances publish, one at a
	// time, until stop is called, and lost after some may have been missed.
	Subscribe(receive func(data []byte), lost func()) (stop func(), err error)
}

// ShareChanges notifies the subscribers at all instances of a service of the
// changes at each: of lists, because features were added or removed, and of
// resources, see [Server.ResourceUpdated]. Changes of several instances within
// [Options].ChangeDelay are one notification. If changes of others may have been
// missed, subscribers are told that everything they subscribed to has changed.
// Call it once the server has its features. [Server.Close] ends it.
func (s *Server) ShareChanges(t ChangeTopic) error {
	stop, err := t.Subscribe(s.changes.received, func() { s.changes.addRemote(&changeSet{all: true}) })
	if err != nil {
		return err
	}
	s.changes.share(t.Publish)
	s.OnClose(func() error {
		s.changes.share(nil)
		stop()
		return nil
	})
	return nil
}

// share sets the function that publishes changes of this instance.
func (n *broadcaster) share(publish func(data []byte)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.publish = publish
}

// sharedChange is a published changeSet.
type sharedChange struct {
	Lists []sharedList `json:"lists,omitempty"`
	URIs  []string     `json:"uris,omitempty"`
	All   bool         `json:"all,omitempty"` // what has changed is too much to say
}

type sharedList struct {
	Method   string    `json:"method"`
	Features []Feature `json:"features,omitempty"`
}

// maxShared bounds a published message.
const maxShared = 1 << 20

// encode returns the message that publishes a changeSet.
func (c *changeSet) encode() []byte {
	out := sharedChange{URIs: c.updated()}
	for i, method := range c.lists {
		l := sharedList{Method: method}
		for f := range c.what[i] {
			l.Features = append(l.Features, f)
		}
		out.Lists = append(out.Lists, l)
	}
	data, err := mcp.Marshal(out)
	if err != nil || len(data) > maxShared {
		return []byte(`{"all":true}`)
	}
	return data
}

// received handles a message of another instance.
func (n *broadcaster) received(data []byte) {
	var in sharedChange
	if err := mcp.Unmarshal(data, &in); err != nil {
		in = sharedChange{All: true} // of another version of the program
	}
	c := &changeSet{all: in.All}
	for _, l := range in.Lists {
		c.list(l.Method, l.Features...)
	}
	for _, uri := range in.URIs {
		c.uri(uri)
	}
	n.addRemote(c)
}

// addRemote records changes at another instance, which are not published again.
func (n *broadcaster) addRemote(c *changeSet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) > 0 {
		n.remote.merge(c)
		n.arm()
	}
}
