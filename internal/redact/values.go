package redact

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// MinValue is the minimum length in bytes of a value that is hidden
	// everywhere. A shorter one occurs in ordinary text, where the gaps would
	// reveal it, so it is hidden by its name only.
	MinValue = 6

	// minEncoded is the minimum length of a value that is hidden in base64.
	minEncoded = 8

	// maxOwned is the number of values of one owner that [Values.Add] keeps, and
	// maxTokens that of [Values.AddToken]. maxLearned is the number of those of all
	// owners.
	maxOwned   = 64
	maxTokens  = 16
	maxLearned = 20_000
)

// common are values that occur in ordinary text. Hiding them would reveal them.
var common = setOf(`password passwd secret token bearer basic default localhost enabled disabled undefined postgres postgresql mysql sqlite mariadb mongodb
	example changeme administrator public private develop developer development production staging testing username anonymous`)

// Values is a set of known secrets by owner. The zero value is empty and ready to
// use; nil has no secrets. It is safe for concurrent use.
type Values struct {
	changes atomic.Int64

	mu      sync.Mutex
	uses    map[string]int         // by secret: how often it is in set and learned
	set     map[string][]string    // by owner, from Set
	learned map[[2]string]*learned // by owner and secret, from Add
	recent  list.List              // of *learned, the last one that was added first
	owned   map[string]*list.List  // by owner: of *learned, in the same order

	indexMu sync.RWMutex // locked after mu
	index   index        // of the secrets in uses
}

// learned is a secret from Add, and where it is in the lists.
type learned struct {
	owner, secret string
	recent, owned *list.Element
}

// New returns a set of secrets without an owner.
func New(secrets ...string) *Values {
	v := &Values{}
	v.Set("", secrets)
	return v
}

// Set replaces the secrets of an owner, such as a server. Nil removes them.
func (v *Values) Set(owner string, secrets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set == nil {
		v.set = map[string][]string{}
	}
	old := v.set[owner]
	v.set[owner] = slices.Clone(secrets)
	for _, secret := range secrets {
		v.use(secret, 1)
	}
	for _, secret := range old {
		v.use(secret, -1)
	}
}

// Add adds a secret of an owner, such as a server. It keeps the newest 64 of each
// owner, and the 20,000 of all owners that were added last; adding one again counts.
func (v *Values) Add(owner, secret string) { v.add(owner, secret, maxOwned) }

// AddToken is [Values.Add] for a token that is renewed again and again, such as that
// of a user at a server: it keeps the newest 16, since older ones are useless.
func (v *Values) AddToken(owner, secret string) { v.add(owner, secret, maxTokens) }

func (v *Values) add(owner, secret string, most int) {
	if !findable(secret) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.learned[[2]string{owner, secret}]; l != nil {
		v.recent.MoveToFront(l.recent)
		v.owned[owner].MoveToFront(l.owned)
		return
	}
	if v.learned == nil {
		v.learned, v.owned = map[[2]string]*learned{}, map[string]*list.List{}
	}
	own := v.owned[owner]
	if own == nil {
		own = list.New()
		v.owned[owner] = own
	}
	l := &learned{owner: owner, secret: secret}
	l.recent, l.owned = v.recent.PushFront(l), own.PushFront(l)
	v.learned[[2]string{owner, secret}] = l
	v.use(secret, 1)
	if own.Len() > most {
		v.forget(own.Back().Value.(*learned))
	}
	if v.recent.Len() > maxLearned {
		v.forget(v.recent.Back().Value.(*learned))
	}
}

// forget removes a secret from Add. The caller holds v.mu.
func (v *Values) forget(l *learned) {
	v.recent.Remove(l.recent)
	own := v.owned[l.owner]
	if own.Remove(l.owned); own.Len() == 0 {
		delete(v.owned, l.owner)
	}
	delete(v.learned, [2]string{l.owner, l.secret})
	v.use(l.secret, -1)
}

// use counts the uses of a secret: n is 1 or -1. The caller holds v.mu.
func (v *Values) use(secret string, n int) {
	if !findable(secret) {
		return
	}
	if v.uses == nil {
		v.uses = map[string]int{}
	}
	v.uses[secret] += n
	first, last := n > 0 && v.uses[secret] == 1, v.uses[secret] == 0
	if !first && !last {
		return
	}
	v.indexMu.Lock()
	defer v.indexMu.Unlock()
	if first {
		v.index.add(secret)
	} else {
		delete(v.uses, secret)
		v.index.remove(secret)
	}
	v.changes.Add(1)
}

// Changes returns the number of changes of the set. After a change, text that was
// redacted before needs to be redacted again.
func (v *Values) Changes() int64 {
	if v == nil {
		return 0
	}
	return v.changes.Load()
}

// Known returns a text without the known values, in all their encodings. It hides
// nothing by its name; see [Values.Text].
func (v *Values) Known(s string) string {
	if v == nil || len(s) < MinValue {
		return s
	}
	v.indexMu.RLock()
	defer v.indexMu.RUnlock()
	return v.index.replace(s)
}

// In reports whether data, as JSON or as text, contains a known value in one of
// its encodings.
func (v *Values) In(data []byte) bool {
	if v == nil || len(data) < MinValue {
		return false
	}
	v.indexMu.RLock()
	defer v.indexMu.RUnlock()
	_, _, _, found := next(&v.index, data, 0)
	return found
}

func findable(secret string) bool {
	return len(secret) >= MinValue && !common[strings.ToLower(secret)]
}
