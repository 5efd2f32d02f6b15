package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// PinOptions configures Pins; nil means the defaults.
type PinOptions struct {
	// File is where pins are kept. It is JSON that can be reviewed and versioned,
	// and need not exist. Several processes may share it. Empty means that pins
	// are kept in memory.
	File string
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
// What another process writes to the file, such as an approval, counts within a
// second. If the file cannot be read any more or is removed, the pins that were
// read last count.
type Pins struct {
	opts PinOptions

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	fileMu sync.Mutex // one read or update of the file at a time; mu is not held meanwhile
	pause  time.Time  // do not write before then
	broken string     // the last error of the file that was logged

	mu      sync.Mutex
	set     *pinSet
	unsaved map[pinKey]unsavedPin // what was seen since the last update
	stamp   fs.FileInfo           // of the file when it was read; nil if it must be read again or does not exist
	existed bool                  // there was a file
	logged  map[pinKey]time.Time  // when it was logged last that a pin is held back
	guards  []weak.Pointer[guard]
	closed  bool
}

const (
	pinPoll      = 500 * time.Millisecond // interval for looking at the file
	pinRetry     = 30 * time.Second       // pause after the file could not be written
	pinLogPause  = time.Minute            // between two log messages about one pin
	maxPinFile   = 64 << 20               // bytes
	maxLogChange = 300                    // bytes of a difference in the log
)

// OpenPins reads the pins of a file. The caller closes them.
func OpenPins(o *PinOptions) (*Pins, error) {
	p := &Pins{set: newPinSet(), unsaved: map[pinKey]unsavedPin{}, logged: map[pinKey]time.Time{}}
	if o != nil {
		p.opts = *o
	}
	if p.opts.Log == nil {
		p.opts.Log = slog.Default()
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	if p.opts.File != "" {
		if err := p.reload(); err != nil {
			return nil, err
		}
		p.wg.Go(p.keep)
	}
	return p, nil
}

// Close writes what is not in the file yet and ends what the Pins run.
func (p *Pins) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()
	p.fileMu.Lock()
	p.pause = time.Time{}
	p.fileMu.Unlock()
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

// edit changes the pins that match, in the file and in memory.
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

// keep writes and reads the file until the Pins are closed.
func (p *Pins) keep() {
	for pause(p.ctx, pinPoll); p.ctx.Err() == nil; pause(p.ctx, pinPoll) {
		err := p.flush()
		if err == nil && p.changedOnDisk() {
			err = p.reload()
		}
		p.report(err)
	}
}

// report logs an error of the file, each only once in a row.
func (p *Pins) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.fileMu.Lock()
	again := p.broken == text
	p.broken = text
	p.fileMu.Unlock()
	if err != nil && !again {
		p.opts.Log.Error("gateway: the file of pins cannot be used; the last pins count", "error", err)
	}
}

// errSame ends an update that changes nothing.
var errSame = errors.New("unchanged")

// flush writes the definitions that are not in the file yet.
func (p *Pins) flush() error {
	p.mu.Lock()
	nothing := len(p.unsaved) == 0 || p.opts.File == ""
	p.mu.Unlock()
	p.fileMu.Lock()
	early := time.Now().Before(p.pause)
	p.fileMu.Unlock()
	if nothing || early {
		return nil
	}
	return p.update(func(*pinSet) {})
}

// update changes the pins, in the file and in memory. It locks the file between
// processes, and applies the change and what is unsaved to the current content of
// the file. An error leaves file and memory unchanged. change may be called
// several times.
func (p *Pins) update(change func(*pinSet)) error {
	p.fileMu.Lock()
	defer p.fileMu.Unlock()
	p.mu.Lock()
	batch, last, existed := p.unsaved, p.set.clone(), p.existed
	p.unsaved = map[pinKey]unsavedPin{}
	p.mu.Unlock()
	if p.opts.File == "" {
		change(last)
		p.adopt(last)
		return nil
	}
	var set *pinSet
	err := safefile.Update(p.opts.File, 0o644, func(old []byte) (data []byte, err error) {
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
		return p.fileError("write", err)
	}
	p.mu.Lock()
	p.existed = true
	p.mu.Unlock()
	p.adopt(set)
	return nil
}

// fileError returns an error that says what to do.
func (p *Pins) fileError(doing string, err error) error {
	return fmt.Errorf("%s pins %s: %w; nothing was changed", doing, p.opts.File, err)
}

// changedOnDisk reports whether the file is another than the one that was read.
func (p *Pins) changedOnDisk() bool {
	now, err := os.Stat(p.opts.File)
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return p.existed
	}
	if err != nil || p.stamp == nil {
		return true
	}
	return !os.SameFile(now, p.stamp) || !now.ModTime().Equal(p.stamp.ModTime()) || now.Size() != p.stamp.Size()
}

// reload reads the file.
func (p *Pins) reload() error {
	p.fileMu.Lock()
	defer p.fileMu.Unlock()
	data, stamp, err := readPinFile(p.opts.File)
	p.mu.Lock()
	if err == nil && data == nil && p.existed {
		err = errors.New("the file was removed")
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
	p.stamp, p.existed = stamp, p.existed || stamp != nil // read it again when it changes
	p.mu.Unlock()
	if err != nil {
		return p.fileError("read", err)
	}
	return nil
}

// readPinFile returns the content of a file and its info, both nil if it does not
// exist.
func readPinFile(name string) ([]byte, fs.FileInfo, error) {
	stamp, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !stamp.Mode().IsRegular():
		return nil, stamp, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, stamp, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPinFile+1))
	if err == nil && len(data) > maxPinFile {
		err = fmt.Errorf("larger than %d MiB", maxPinFile>>20)
	}
	return data, stamp, err
}

// adopt replaces the pins in memory, adds what is unsaved, and lets the guards
// act on it. The file must be read again, since others may have written it since.
func (p *Pins) adopt(set *pinSet) {
	p.mu.Lock()
	set.merge(p.unsaved)
	p.set, p.stamp = set, nil
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
// servers differ do not write the file again and again.
func (p *Pins) reconsider(k pinKey, d Definition) (held bool) {
	p.mu.Lock()
	pin, known := p.set.pins[k]
	p.mu.Unlock()
	switch {
	case known && pin.Approved != nil && pin.Approved.Digest == d.Digest:
		return false
	case known && pin.Held != nil:
		return true
	}
	return p.see(k, d)
}

// see records that a server has a definition, and reports whether it is held
// back.
func (p *Pins) see(k pinKey, d Definition) (held bool) {
	p.mu.Lock()
	if pin, ok := p.set.pins[k]; ok && pin.Held == nil && pin.Approved.Digest == d.Digest {
		p.mu.Unlock()
		return false
	}
	p.mu.Unlock()
	holdNew := p.holdsNew(k, d)
	p.mu.Lock()
	found, changed := p.set.see(k, d, holdNew)
	pin := p.set.pins[k]
	if changed {
		p.unsaved[k] = unsavedPin{pin, d}
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
	case found == sightHeld && pin.Approved == nil:
		p.opts.Log.Warn("gateway: a new definition is held back until it is approved", about...)
	case found == sightHeld:
		for _, c := range pin.Changes() {
			about = append(about, visible.Line(c.What), textclip.Clip(visible.Line(c.Before+" → "+c.After), maxLogChange))
		}
		p.opts.Log.Warn("gateway: a definition has changed and is held back until it is approved", about...)
	case len(suspicious) > 0:
		p.opts.Log.Warn("gateway: a definition looks suspicious", about...)
	}
}
