package expr

import (
	"fmt"
	"math"
	"reflect"

	"github.com/itchyny/gojq"
)

// What a single step of jq may create from a number of a response. The bounds of a
// run are checked between steps only.
const (
	maxRepeated = 8 << 20   // bytes of a text that is multiplied by a number
	maxIndex    = 1_000_000 // the index at which an array is set
)

// guard rewrites a query so that its steps check the numbers that they get:
//
//	l * r        becomes  r as $tenon_r | l as $tenon_l | $tenon_l * tenon_factor($tenon_l; $tenon_r)
//	l *= r       becomes  r as $tenon_r | l |= (. * tenon_factor(.; $tenon_r))
//	l = r        becomes  ([path(l)] | tenon_paths) as $tenon_ok | l = r, if l may set an index; so do |= += -= /= %= //=
//	explode      becomes  tenon_short | explode; see checkedTexts
//	setpath(p;v) becomes  v as $tenon_v | p as $tenon_p | ([$tenon_p] | tenon_paths) as $tenon_ok | setpath($tenon_p; $tenon_v)
func guard(q *gojq.Query) {
	eachQuery(reflect.ValueOf(q), func(q *gojq.Query) {
		switch q.Op {
		case gojq.OpMul:
			checked := parsed("0 as $tenon_r | 0 as $tenon_l | $tenon_l * tenon_factor($tenon_l; $tenon_r)")
			checked.Left, checked.Right.Left = q.Right, q.Left
			replace(q, checked)
		case gojq.OpUpdateMul:
			checked := parsed("0 as $tenon_r | 0 |= (. * tenon_factor(.; $tenon_r))")
			checked.Left, checked.Right.Left = q.Right, q.Left
			checked.Right = indexed(checked.Right)
			replace(q, checked)
		case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
			update := *q
			update.FuncDefs = nil
			replace(q, indexed(&update))
		}
		checkText(q)
		if f := function(q.Term, "setpath", 2); f != nil {
			checked := parsed("0 as $tenon_v | 0 as $tenon_p | ([$tenon_p] | tenon_paths) as $tenon_ok | setpath($tenon_p; $tenon_v)")
			checked.Left, checked.Right.Left = f.Args[1], f.Args[0]
			q.Term = &gojq.Term{Type: gojq.TermTypeQuery, Query: checked, SuffixList: q.Term.SuffixList}
		}
	})
}

// indexed returns an update of which the paths are checked, if one of them may have
// an index.
func indexed(update *gojq.Query) *gojq.Query {
	if !mayIndex(update.Left) {
		return update
	}
	checked := parsed("([path(0)] | tenon_paths) as $tenon_ok | 0")
	list := checked.Left.Term.Query.Left.Term.Array.Query
	list.Term.Func.Args[0] = update.Left
	checked.Right = update
	return checked
}

// mayIndex reports whether a path may have an index: it does not if it has only names
// and [].
func mayIndex(path *gojq.Query) (may bool) {
	visit(reflect.ValueOf(path), func(v any) {
		switch v := v.(type) {
		case *gojq.Index:
			may = may || v.Start != nil || v.End != nil
		case *gojq.Func:
			may = true
		}
	})
	return may
}

// replace changes a query into another one, which keeps its functions.
func replace(q, by *gojq.Query) {
	by.FuncDefs, by.Meta, by.Imports = q.FuncDefs, q.Meta, q.Imports
	*q = *by
}

// parsed parses jq of this file.
func parsed(source string) *gojq.Query {
	q, err := gojq.Parse(source)
	if err != nil {
		panic(err)
	}
	return q
}

// function returns the call of a function that a term is.
func function(t *gojq.Term, name string, args int) *gojq.Func {
	if t == nil || t.Type != gojq.TermTypeFunc || t.Func.Name != name || len(t.Func.Args) != args {
		return nil
	}
	return t.Func
}

// eachQuery calls change for every query in a syntax tree, the inner ones first.
func eachQuery(tree reflect.Value, change func(*gojq.Query)) {
	visit(tree, func(v any) {
		if q, ok := v.(*gojq.Query); ok {
			change(q)
		}
	})
}

// visit calls see with every pointer in a syntax tree, the inner ones first.
func visit(tree reflect.Value, see func(any)) {
	switch tree.Kind() {
	case reflect.Pointer:
		if !tree.IsNil() {
			visit(tree.Elem(), see)
			see(tree.Interface())
		}
	case reflect.Slice:
		for i := range tree.Len() {
			visit(tree.Index(i), see)
		}
	case reflect.Struct:
		for i := range tree.NumField() {
			visit(tree.Field(i), see)
		}
	}
}

// guards returns the functions that guard uses.
func guards() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithFunction("tenon_factor", 2, 2, func(_ any, args []any) any { return factor(args[0], args[1]) }),
		gojq.WithFunction("tenon_paths", 0, 0, func(in any, _ []any) any { return checkPaths(in) }),
	}
}

// factor returns r, unless l * r would be a text that is too long.
func factor(l, r any) any {
	text, times := l, r
	if _, ok := text.(string); !ok {
		text, times = r, l
	}
	if s, ok := text.(string); ok && amount(times)*float64(len(s)) > maxRepeated {
		return fmt.Errorf("a text that is multiplied may have at most %d MiB", maxRepeated>>20)
	}
	return r
}

func checkPaths(in any) any {
	paths, _ := in.([]any)
	for _, p := range paths {
		elements, _ := p.([]any)
		for _, e := range elements {
			if slice, ok := e.(map[string]any); ok { // .[1:2]
				e = max(amount(slice["start"]), amount(slice["end"]))
			}
			if amount(e) > maxIndex {
				return fmt.Errorf("an array may be set at the indexes up to %d", maxIndex)
			}
		}
	}
	return nil
}

// amount returns a number as a float; 0 for what is none.
func amount(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case interface{ IsInt64() bool }: // a *big.Int
		return math.Inf(1)
	}
	return 0
}
