package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// PinOptions configures Pins; nil means the defaults.
type PinOptions struct {
	// File is where pins are kept. It is JSON that can be reviewed and versioned,
	// and need not exist. Several processes may share it. Empty means that pins
	// are kept in memory.
	File string
	// Cluster is where pins are kept instead of File, for gateways that share
	// them. Nil means that they do not.
	Cluster cluster.Store
	// HoldNew holds back definitions that are seen for the first time. Otherwise
	// they count as approved.
	HoldNew bool
	// HoldSuspicious holds back definitions that are seen for the first time and
	// have warnings; see [Pin.Warnings].
	HoldSuspicious bool
	// Log receives what is held back, with the differences, and definitions with
	// warnings. Nil means slog.Default().
	Log *slog.Logger
}

// Pins has the approved definitions of servers and those that wait for approval.
// [Pins.Guard] holds the latter back. Pins are safe for concurrent use.
//
// What another process writes to the file or the cluster, such as an approval,
// counts within a second. If the pins cannot be read any more or are removed, those
// that were read last count.
type Pins struct {
	opts  PinOptions
	store pinStore // nil means that they are in memory only

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	storeMu sync.Mutex // one read or update of the store at a time; mu is not held meanwhile
	pause   time.Time  // do not write before then
	broken  string     // the last error of the store that was logged

	mu      sync.Mutex
	set     *pinSet
	unsaved map[pinKey]unsavedPin // what was seen since the last update
	stale   bool                  // the store must be read again
	existed bool                  // the store had pins
	logged  map[pinKey]time.Time  // when it was logged last that a pin is held back
	guards  []weak.Pointer[guard]
	closed  bool

	held chan struct{} // has an element if something is held back that is unsaved
}

const (
	pinPoll      = 500 * time.Millisecond // interval for looking at the store
	pinBatch     = 20 * time.Millisecond  // until a definition that is held back is written
	pinRetry     = 30 * time.Second       // pause after the store could not be written
	pinLogPause  = time.Minute            // between two log messages about one pin
	maxPinFile   = 64 << 20               // bytes
	maxLogChange = 300                    // bytes of a difference in the log
)

// OpenPins reads the pins of a file or a cluster. The caller closes them.
func OpenPins(o *PinOptions) (*Pins, error) {
	p := &Pins{set: newPinSet(), unsaved: map[pinKey]unsavedPin{}, logged: map[pinKey]time.Time{}, held: make(chan struct{}, 1)}
	if o != nil {
		p.opts = *o
	}
	if p.opts.Log == nil {
		p.opts.Log = slog.Default()
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	switch {
	case p.opts.Cluster != nil:
		p.store = &clusterPins{store: p.opts.Cluster}
	case p.opts.File != "":
		p.store = &pinFile{path: p.opts.File}
	}
	if p.store != nil {
		if err := p.reload(); err != nil {
			return nil, err
		}
		p.wg.Go(p.keep)
	}
	return p, nil
}

// Close writes what is not in the store yet and ends what the Pins run.
func (p *Pins) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()
	p.storeMu.Lock()
	p.pause = time.Time{}
	p.storeMu.Unlock()
	return p.flush()
}

// spawn runs f in a goroutine that Close waits for.
func (p *Pins) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Go(f)
	}
	return !p.closed
}

// List returns all pins, sorted by server, kind and name.
func (p *Pins) List() []Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set.sorted()
}

// Approve approves the held definitions of the pins that match, and returns these
// pins as they were before. match is called for all pins that have one; it must
// not block.
func (p *Pins) Approve(match func(Pin) bool) ([]Pin, error) {
	return p.edit(match, func(s *pinSet, pin Pin) bool {
		if pin.Held == nil {
			return false
		}
		pin.Approved, pin.Held = pin.Held, nil
		s.put(pin)
		return true
	})
}

// Remove removes the pins that match and returns them. The definition that a
// server has then counts as seen for the first time.
func (p *Pins) Remove(match func(Pin) bool) ([]Pin, error) {
	return p.edit(match, func(s *pinSet, pin Pin) bool {
		s.remove(pin.key())
		return true
	})
}

// edit changes the pins that match, in the store and in memory.
func (p *Pins) edit(match func(Pin) bool, change func(*pinSet, Pin) bool) (changed []Pin, err error) {
	err = p.update(func(s *pinSet) {
		changed = nil
		for _, pin := range s.sorted() {
			if match(pin) && change(s, pin) {
				changed = append(changed, pin)
			}
		}
	})
	return changed, err
}

// keep writes and reads the store until the Pins are closed.
func (p *Pins) keep() {
	for p.wait(); p.ctx.Err() == nil; p.wait() {
		err := p.flush()
		if err == nil && p.changed() {
			err = p.reload()
		}
		if p.opts.Cluster != nil && errors.Is(err, errRemoved) { // its data are lost; ours are not
			err = p.update(func(*pinSet) {})
		}
		p.report(err)
	}
}

// wait waits until it is time to look at the store: soon if something is held back
// that an operator should see.
func (p *Pins) wait() {
	timer := time.NewTimer(pinPoll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.held:
		pause(p.ctx, pinBatch)
	case <-p.ctx.Done():
	}
}

// changed reports whether the store has to be read again.
func (p *Pins) changed() bool {
	p.mu.Lock()
	stale, existed := p.stale, p.existed
	p.mu.Unlock()
	return stale || p.store.changed(existed)
}

// report logs an error of the store, each only once in a row.
func (p *Pins) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.storeMu.Lock()
	again := p.broken == text
	p.broken = text
	p.storeMu.Unlock()
	if err != nil && !again {
		p.opts.Log.Error("gateway: the pins cannot be read or written; the last pins count", "error", err)
	}
}

// errRemoved is the error for pins that are not in the store any more.
var errRemoved = errors.New("the pins were removed")

// errSame ends an update that changes nothing.
var errSame = errors.New("unchanged")

// flush writes the definitions that are not in the store yet.
func (p *Pins) flush() error {
	p.mu.Lock()
	nothing := len(p.unsaved) == 0 || p.store == nil
	p.mu.Unlock()
	p.storeMu.Lock()
	early := time.Now().Before(p.pause)
	p.storeMu.Unlock()
	if nothing || early {
		return nil
	}
	return p.update(func(*pinSet) {})
}

// update changes the pins, in the store and in memory. It applies the change and
// what is unsaved to what the store has now. An error leaves store and memory
// unchanged. change may be called several times.
func (p *Pins) update(change func(*pinSet)) error {
	p.storeMu.Lock()
	defer p.storeMu.Unlock()
	p.mu.Lock()
	batch, last, existed := p.unsaved, p.set.clone(), p.existed
	p.unsaved = map[pinKey]unsavedPin{}
	p.mu.Unlock()
	if p.store == nil {
		change(last)
		p.adopt(last)
		return nil
	}
	var set *pinSet
	err := p.store.update(func(old []byte) (data []byte, err error) {
		if old == nil && existed {
			set = last.clone()
		} else if set, err = parsePins(old); err != nil {
			return nil, err
		}
		set.merge(batch)
		change(set)
		if data, err = set.encode(); err == nil && string(data) == string(old) {
			err = errSame
		}
		return data, err
	})
	if err != nil && !errors.Is(err, errSame) {
		p.pause = time.Now().Add(pinRetry)
		p.mu.Lock()
		for k, d := range batch {
			if _, newer := p.unsaved[k]; !newer {
				p.unsaved[k] = d
			}
		}
		p.mu.Unlock()
		return p.storeError("write", err)
	}
	p.mu.Lock()
	p.existed = true
	p.mu.Unlock()
	p.adopt(set)
	return nil
}

// storeError returns an error that says what was not done.
func (p *Pins) storeError(doing string, err error) error {
	return fmt.Errorf("%s pins %s: %w; nothing was changed", doing, p.store, err)
}

// reload reads the store.
func (p *Pins) reload() error {
	p.storeMu.Lock()
	defer p.storeMu.Unlock()
	data, err := p.store.read()
	p.mu.Lock()
	if err == nil && data == nil && p.existed {
		err = errRemoved
	}
	p.mu.Unlock()
	var set *pinSet
	if err == nil {
		set, err = parsePins(data)
	}
	if err == nil {
		p.adopt(set)
	}
	p.mu.Lock()
	p.stale, p.existed = false, p.existed || data != nil // read it again when it changes
	p.mu.Unlock()
	if err != nil {
		return p.storeError("read", err)
	}
	return nil
}

// adopt replaces the pins in memory, adds what is unsaved, and lets the guards
// act on it. The store must be read again, since others may have written it since.
func (p *Pins) adopt(set *pinSet) {
	p.mu.Lock()
	set.merge(p.unsaved)
	p.set, p.stale = set, true
	p.guards = slices.DeleteFunc(p.guards, func(g weak.Pointer[guard]) bool { return g.Value() == nil })
	guards := slices.Clone(p.guards)
	p.mu.Unlock()
	for _, at := range guards {
		if g := at.Value(); g != nil {
			g.reconsider()
		}
	}
}

// register lets a guard act on changed pins for as long as it is used.
func (p *Pins) register(g *guard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.guards) == cap(p.guards) {
		p.guards = slices.DeleteFunc(p.guards, func(g weak.Pointer[guard]) bool { return g.Value() == nil })
	}
	p.guards = append(p.guards, weak.Make(g))
}

// holdsNew reports whether a definition that is seen for the first time is held
// back.
func (p *Pins) holdsNew(k pinKey, d Definition) bool {
	return p.opts.HoldNew || p.opts.HoldSuspicious && len(warnings(k.name, d.Definition)) > 0
}

// reconsider reports whether a definition that was seen before is held back now.
// It changes nothing about definitions that others see, so that two gateways whose
// servers differ do not write the store again and again.
func (p *Pins) reconsider(k pinKey, d Definition, each bool) (held bool) {
	p.mu.Lock()
	pin := p.set.pins[k]
	p.mu.Unlock()
	switch {
	case pin.Approved.is(d.Digest):
		return false
	case pin.Held != nil && !each:
		return true
	}
	return p.see(k, d, each)
}

// see records that a server has a definition, and reports whether it is held
// back. Each says that connections to the server may have different ones.
func (p *Pins) see(k pinKey, d Definition, each bool) (held bool) {
	p.mu.Lock()
	if pin, ok := p.set.pins[k]; ok && (pin.Held == nil || each) && pin.Approved.is(d.Digest) {
		p.mu.Unlock()
		return false
	}
	p.mu.Unlock()
	holdNew := p.holdsNew(k, d)
	p.mu.Lock()
	var found sight
	var changed bool
	if each {
		k, found, changed = p.set.seeVariant(k, d, holdNew)
	} else {
		found, changed = p.set.see(k, d, holdNew)
	}
	pin := p.set.get(k)
	if changed {
		p.unsaved[k] = unsavedPin{pin, d}
		if found != sightApproved {
			select {
			case p.held <- struct{}{}:
			default:
			}
		}
	}
	speak := changed || found == sightTooMany
	if speak && found != sightApproved {
		speak = p.mayLog(k)
	}
	p.mu.Unlock()
	if speak {
		p.log(k, pin, found)
	}
	return found != sightApproved
}

// mayLog reports whether it is time for another message that a pin is held back.
// p.mu is held.
func (p *Pins) mayLog(k pinKey) bool {
	now := time.Now()
	if last, ok := p.logged[k]; ok && now.Sub(last) < pinLogPause {
		return false
	}
	if len(p.logged) >= maxSeen {
		clear(p.logged)
	}
	p.logged[k] = now
	return true
}

// log logs what was seen.
func (p *Pins) log(k pinKey, pin Pin, found sight) {
	about := []any{"server", k.server, "kind", k.kind, "name", visible.Line(k.name)}
	var suspicious []string
	if found != sightTooMany {
		suspicious = pin.Warnings()
	}
	if len(suspicious) > 0 {
		about = append(about, "warnings", visible.Line(strings.Join(suspicious, "; ")))
	}
	switch {
	case found == sightTooMany:
		p.opts.Log.Warn("gateway: held back: the definitions of the server are larger than 8 MiB", about...)
	case found == sightHeld && pin.Approved == nil && !pin.Variant:
		p.opts.Log.Warn("gateway: a new definition is held back until it is approved", about...)
	case found == sightHeld:
		for _, c := range pin.Changes() {
			about = append(about, visible.Line(c.What), textclip.Clip(visible.Line(c.Before+" → "+c.After), maxLogChange))
		}
		p.opts.Log.Warn("gateway: a definition has changed and is held back until it is approved", append(about, "digest", pin.Held.Digest)...)
	case len(suspicious) > 0:
		p.opts.Log.Warn("gateway: a definition looks suspicious", about...)
	}
}
