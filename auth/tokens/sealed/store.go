package sealed

import (
	"context"
	"errors"
	"slices"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A Store is a [tokens.Store] of sealed values that several processes share.
type Store interface {
	tokens.Store
	tokens.Locker
	// Names returns the keys of all values that can be opened, sorted, and the
	// number of those that cannot.
	Names(ctx context.Context) (names []string, unreadable int, err error)
	// Reseal seals the values with the first key that another one has sealed, and
	// returns their number. Values that no key opens are left as they are.
	Reseal(ctx context.Context) (n int, err error)
	// DeleteUnreadable deletes the values that no key opens, and returns their
	// number.
	DeleteUnreadable(ctx context.Context) (n int, err error)
}

var (
	_ Store = (*Files)(nil)
	_ Store = (*Cluster)(nil)
)

// A place is where sealed values are, by the digests of their names.
type place interface {
	tokens.Store
	tokens.Locker
	digests(ctx context.Context) ([]string, error)
	// read opens a value. The error is [tokens.ErrNotFound] if it was deleted.
	read(ctx context.Context, digest string) (name string, value []byte, current bool, err error)
	remove(ctx context.Context, digest string) error
}

// each calls see with every value of a place, or why it does not open.
func each(ctx context.Context, p place, see func(digest, name string, current bool, err error) error) error {
	all, err := p.digests(ctx)
	if err != nil {
		return err
	}
	for _, digest := range all {
		name, _, current, err := p.read(ctx, digest)
		if errors.Is(err, tokens.ErrNotFound) {
			continue
		}
		if err := see(digest, name, current, err); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func namesIn(ctx context.Context, p place) (names []string, unreadable int, err error) {
	err = each(ctx, p, func(_, name string, _ bool, err error) error {
		if err != nil {
			unreadable++
		} else {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, unreadable, err
}

func resealIn(ctx context.Context, p place) (n int, err error) {
	err = each(ctx, p, func(_, name string, current bool, err error) error {
		if err != nil || current {
			return nil
		}
		unlock, err := p.Lock(ctx, name) // a refresh may be storing a new token
		if err != nil {
			return err
		}
		defer unlock()
		value, err := p.Load(ctx, name)
		if err != nil {
			return nil // deleted meanwhile
		}
		n++
		return p.Save(ctx, name, value)
	})
	return n, err
}

func deleteUnreadableIn(ctx context.Context, p place) (n int, err error) {
	err = each(ctx, p, func(digest, _ string, _ bool, err error) error {
		if !errors.Is(err, ErrKey) {
			return nil
		}
		if err := p.remove(ctx, digest); err != nil {
			return err
		}
		n++
		return nil
	})
	return n, err
}
