// Command report reads the results of the official conformance suite and
// prints a table of scenarios by leg. It fails if a required scenario failed
// or was not run.
//
//	report -results DIR -requirements DIR leg…
//
// A leg is a folder of results. Its name begins with "server" or "client"; if
// it ends with a revision, everything that the suite requires for that revision
// is required of the leg. "server-by-name" holds the scenarios that the suite
// does not score and we require all the same.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
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
	if bad := problems(legs); len(bad) > 0 {
		fmt.Printf("\nNot good:\n  %s\n", strings.Join(bad, "\n  "))
		os.Exit(1)
	}
	fmt.Println("\nEverything that is required passed.")
}
