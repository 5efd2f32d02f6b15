package safefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// ErrNoLocks is the error of [Lock] on a file system that has no locks.
var ErrNoLocks = errors.New("the file system does not support locks, so the change could be overwritten; nothing was written")

// ErrLocked is the error of [Lock] if another program holds the lock for
// longer than lockTimeout.
var ErrLocked = fmt.Errorf("another program has locked the folder for %s; try again later", lockTimeout)

const lockTimeout = 30 * time.Second

// lockName is the file that is locked if a directory cannot be, as on NFS.
// It exists only while a process holds or wants the lock.
const lockName = ".tenon-lock.tmp"

// errBusy means that another process holds the lock.
var errBusy = errors.New("locked by another process")

// An identity identifies a directory in all processes of this machine.
type identity struct{ volume, file uint64 }

// Lock locks directories against other callers of Lock, in this process and
// in others, and returns the function that unlocks them. It does not affect
// programs that do not use Lock; see [Swap].
//
// The lock belongs to the open directory and is released by the system when
// the process ends. Nothing is written into the directory if the file system
// can lock a directory. Lock waits while another caller holds the lock,
// until ctx ends or 30 seconds have passed. Several directories are locked
// in an order that all processes share, so that callers cannot deadlock.
func Lock(ctx context.Context, dirs ...*os.File) (unlock func(), err error) {
	ids := make(map[identity]*os.File, len(dirs))
	order := make([]identity, 0, len(dirs))
	for _, d := range dirs {
		id, err := identify(d)
		if err != nil {
			return nil, err
		}
		if ids[id] == nil {
			order = append(order, id)
		}
		ids[id] = d
	}
	slices.SortFunc(order, func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.volume, b.volume), cmp.Compare(a.file, b.file))
	})
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, ErrLocked)
	defer cancel()
	var held []func()
	unlock = func() {
		for _, release := range slices.Backward(held) {
			release()
		}
	}
	for _, id := range order {
		leave, err := turns.wait(ctx, id)
		if err == nil {
			held = append(held, leave)
			var release func()
			if release, err = lockProcess(ctx, ids[id], id); err == nil {
				held = append(held, release)
			}
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}

// lockProcess takes the lock that other processes see. It polls, because
// systems have no lock with a timeout.
func lockProcess(ctx context.Context, dir *os.File, id identity) (release func(), err error) {
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 8*time.Millisecond) {
		release, err = tryLock(dir, id)
		if !errors.Is(err, errBusy) {
			return release, err
		}
		select {
		case <-time.After(rand.N(pause) + pause/2):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// turns serializes the callers of one process, so that only one polls the
// system.
var turns = queue{waiting: map[identity]*turn{}}

type queue struct {
	mu      sync.Mutex
	waiting map[identity]*turn
}

// A turn is a mutex with the number of callers that hold or want it.
type turn struct {
	slot  chan struct{}
	count int
}

func (q *queue) wait(ctx context.Context, id identity) (leave func(), err error) {
	q.mu.Lock()
	t := q.waiting[id]
	if t == nil {
		t = &turn{slot: make(chan struct{}, 1)}
		q.waiting[id] = t
	}
	t.count++
	q.mu.Unlock()
	forget := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if t.count--; t.count == 0 {
			delete(q.waiting, id)
		}
	}
	select {
	case t.slot <- struct{}{}:
		return func() { <-t.slot; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}

// LockRoot is like [Lock] for directories named by their paths below a root.
func LockRoot(ctx context.Context, root *os.Root, dirs ...string) (unlock func(), err error) {
	var open []*os.File
	closeAll := func() {
		for _, d := range open {
			d.Close()
		}
	}
	for _, name := range dirs {
		d, err := root.Open(name)
		if err != nil {
			closeAll()
			return nil, err
		}
		open = append(open, d)
	}
	release, err := Lock(ctx, open...)
	if err != nil {
		closeAll()
		return nil, err
	}
	return func() { release(); closeAll() }, nil
}
