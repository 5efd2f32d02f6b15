package model

import (
	"errors"
	"strings"
	"testing"
)

// holds checks a model that is right, and the same model with each mistake that
// somebody could make: the model must find all of them.
func holds[M comparable, S comparable](t *testing.T, right M, mistakes map[string]M, model func(M) Model[S]) {
	t.Helper()
	r, err := model(right).Check()
	if err != nil {
		t.Errorf("the code as it is: %v", err)
	}
	t.Logf("%d states, %d steps, %d ends", r.States, r.Steps, r.Ends)
	if r.States < 100 || r.Ends == 0 {
		t.Errorf("the model has only %d states and %d ends", r.States, r.Ends)
	}
	for name, m := range mistakes {
		if r, err := model(m).Check(); err == nil {
			t.Errorf("%s: not found in %d states", name, r.States)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestCheckFindsTheShortestWay(t *testing.T) {
	count := Model[int]{
		Steps: func(s int) []Step[int] {
			if s >= 10 {
				return nil
			}
			return []Step[int]{{"one", s + 1}, {"two", s + 2}}
		},
		Always: func(s int) error {
			if s == 5 {
				return errors.New("five")
			}
			return nil
		},
	}
	if _, err := count.Check(); err == nil || strings.Count(err.Error(), "→") != 2 {
		t.Errorf("five is reached as %v", err)
	}
	count.Always = func(int) error { return nil }
	if r, err := count.Check(); err != nil || r != (Result{States: 12, Steps: 20, Ends: 2}) {
		t.Errorf("%+v, %v", r, err)
	}
	count.AtEnd = func(s int) error {
		if s == 11 {
			return errors.New("eleven")
		}
		return nil
	}
	if _, err := count.Check(); err == nil {
		t.Error("an end that must not be is not found")
	}
}
