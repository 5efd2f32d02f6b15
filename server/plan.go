package server

import (
	"reflect"
	"sync"

	"github.com/tenon-mcp/tenon/schema"
)

var plans sync.Map // of *planned[T], by the type of T

// A planned type is one that was compiled.
type planned[T any] struct {
	*schema.Plan[T]
	room usualRoom // of results
	own  beside[T] // what a result says of itself
}

// append encodes an output and holds it to the rules of its own tags.
func (p *planned[T]) append(dst []byte, v *T) ([]byte, error) {
	start := len(dst)
	dst, err := p.Append(dst, v)
	if err != nil {
		return dst, err
	}
	if err := p.Check(dst[start:]); err != nil {
		return dst, &brokenPromise{err}
	}
	return dst, nil
}

// planOf compiles a type, once for all the features that use it. A failure is
// not kept: it may come from a validator that is not there yet.
func planOf[T any]() (*planned[T], error) {
	t := reflect.TypeFor[T]()
	if p, ok := plans.Load(t); ok {
		return p.(*planned[T]), nil
	}
	compiled, err := schema.Compile[T]()
	if err != nil {
		return nil, err
	}
	p := &planned[T]{Plan: compiled, own: besideOf[T]()}
	plans.Store(t, p)
	return p, nil
}

// inputOf compiles a type that is only read.
func inputOf[T any]() (*planned[T], error) {
	p, err := planOf[T]()
	if err != nil {
		return nil, err
	}
	return p, p.CanDecode()
}

// outputOf compiles a type that is only written.
func outputOf[T any]() (*planned[T], error) {
	p, err := planOf[T]()
	if err != nil {
		return nil, err
	}
	return p, p.CanEncode()
}
