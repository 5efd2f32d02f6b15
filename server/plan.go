package server

import (
	"reflect"
	"sync"

	"github.com/tenon-mcp/tenon/schema"
)

var plans sync.Map // of *schema.Plan[T], by the type of T

// planOf compiles a type, once for all the features that use it. A failure is
// not kept: it may come from a validator that is not there yet.
func planOf[T any]() (*schema.Plan[T], error) {
	t := reflect.TypeFor[T]()
	if p, ok := plans.Load(t); ok {
		return p.(*schema.Plan[T]), nil
	}
	p, err := schema.Compile[T]()
	if err != nil {
		return nil, err
	}
	plans.Store(t, p)
	return p, nil
}
