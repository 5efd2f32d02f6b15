// Command report reads the results of the official conformance suite and
// prints a table of scenarios by leg. It fails if a required scenario failed
// or was not run.
//
//	report -results DIR -requirements DIR leg…
//
// A leg is a folder of results. Its name begins with "server", "client", or with
// "gateway" or "oldergateway" for a server behind one; if it ends with a revision, everything that the suite requires for that revision
// is required of the leg. "server-by-name" holds the scenarios that the suite
// does not score and we require all the same.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	log.SetFlags(0)
	results := flag.String("results", "", "the folder that has a folder of results for each leg")
	requirements := flag.String("requirements", "", "the suite's folder of required scenarios, one file for each revision")
	flag.Parse()
	var legs []*leg
	for _, name := range flag.Args() {
		l, err := readLeg(filepath.Join(*results, name))
		if err == nil {
			err = l.require(*requirements)
		}
		if err != nil {
			log.Fatalf("conformance: %v", err)
		}
		legs = append(legs, l)
	}
	printTable(os.Stdout, legs)
	for _, l := range legs {
		for _, name := range sortedKeys(l.scenarios) {
			if why := l.impossible(name); why != "" && !l.good(name) {
				fmt.Printf("%s: %s is not required: %s\n", l.title(), name, why)
			}
		}
	}
	if bad := problems(legs); len(bad) > 0 {
		fmt.Printf("\nNot good:\n  %s\n", strings.Join(bad, "\n  "))
		os.Exit(1)
	}
	fmt.Println("\nEverything that is required passed.")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// printTable prints a row for each scenario and a column for each leg: how many
// of its checks passed, in brackets where nothing is required.
func printTable(w io.Writer, legs []*leg) {
	rows := map[string]bool{}
	head, line := []string{"scenario"}, []string{"--------"}
	for _, l := range legs {
		for name := range l.scenarios {
			rows[name] = true
		}
		for name := range l.required {
			rows[name] = true
		}
		head = append(head, l.title())
		line = append(line, strings.Repeat("-", len(l.title())))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells []string) { fmt.Fprintln(tw, strings.Join(cells, "\t")) }
	row(head)
	row(line)
	for _, name := range sortedKeys(rows) {
		cells := []string{name}
		for _, l := range legs {
			cells = append(cells, l.cell(name))
		}
		row(cells)
	}
	row(line)
	scored, required, checks := []string{"scored by the suite"}, []string{"required by us"}, []string{"checks of those"}
	for _, l := range legs {
		s, _ := l.totals(l.scored)
		r, c := l.totals(l.required)
		scored, required, checks = append(scored, s), append(required, r), append(checks, c)
	}
	row(scored)
	row(required)
	row(checks)
	tw.Flush()
}

func (l *leg) cell(name string) string {
	o := l.scenarios[name]
	if o == nil {
		if l.required[name] {
			return "not run"
		}
		return "."
	}
	text := fmt.Sprintf("%d/%d", o.passed, o.passed+o.failed+o.warned)
	if o.warned > 0 {
		text += fmt.Sprintf(", %d warned", o.warned)
	}
	switch {
	case !l.required[name]:
		return "(" + text + ")"
	case !l.good(name):
		return text + " FAILED"
	}
	return text
}

// totals counts some scenarios and their checks.
func (l *leg) totals(names map[string]bool) (scenarios, checks string) {
	var good, passed, of int
	for name := range names {
		if l.good(name) {
			good++
		}
		if o := l.scenarios[name]; o != nil {
			passed, of = passed+o.passed, of+o.passed+o.failed+o.warned
		}
	}
	return fmt.Sprintf("%d/%d", good, len(names)), fmt.Sprintf("%d/%d", passed, of)
}
