// Command peers measures Tenon beside what a user would pick instead, and
// beside floors written by hand: servers and clients as processes of their own,
// asked by a load generator that knows no SDK, taking turns in every round so
// that whatever else the machine does falls on all of them.
//
//	go run ./peers                 everything, five rounds, writes ../docs
//	go run ./peers -quick          a look, in a minute or two; writes nothing
//	go run ./peers -only http -peers tenon,floorscan
//	go run ./peers -only '^bridge$' -update     replaces these tables in ../docs
//
// It is run in the folder bench.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	fast := flag.Bool("quick", false, "one short round, and write nothing")
	rounds := flag.Int("rounds", 0, "how often each peer is measured; 0 means five")
	length := flag.Duration("length", 0, "how long one measurement takes; 0 means 1.2 s")
	only := flag.String("only", "", "a regular expression for the names of scenarios")
	who := flag.String("peers", "", "names of peers, with commas; empty means all")
	update := flag.Bool("update", false, "with -only: replace the tables of these scenarios in benchmarks.md")
	docs := flag.String("docs", filepath.Join("..", "docs"), "the folder to write benchmarks.md and its charts into; empty means print only")
	flag.Parse()
	o := thorough
	if *fast {
		o, *docs = quick, ""
	}
	if *rounds > 0 {
		o.rounds = *rounds
	}
	if *length > 0 {
		o.length = *length
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	if *update && (*only == "" || *who != "" || *fast) {
		log.Fatal("-update needs -only, and all peers at full length")
	}
	part := *docs
	if *only != "" || *who != "" {
		*docs = "" // a part is not worth keeping, unless it is asked for
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		log.Fatal(err)
	}
	rep := &report{options: o, began: time.Now()}
	for _, s := range scenarios() {
		if chosen.MatchString(s.name) {
			rep.add(measure(s, &o, *who))
		}
	}
	rep.bars(os.Stdout)
	if *update {
		if err := rep.update(part); err != nil {
			log.Fatal(err)
		}
	}
	if *docs != "" {
		if err := rep.write(*docs); err != nil {
			log.Fatal(err)
		}
	}
}

// measure takes all rounds of a scenario, the peers in turn and in another
// order each time.
func measure(s *scenario, o *options, who string) *results {
	res := &results{scenario: s, samples: map[string][]sample{}, failed: map[string]error{}}
	for _, p := range peers {
		if !s.skip(p) && p.argv != nil && (who == "" || slices.Contains(strings.Split(who, ","), p.name)) {
			res.peers = append(res.peers, p)
		}
	}
	rounds := o.rounds
	if s.rest {
		rounds = min(rounds, 3)
	}
	if s.promised() {
		rounds += o.more
	}
	load := loadAverage()
	for round := range rounds {
		for i := range res.peers {
			p := res.peers[(i+round)%len(res.peers)]
			if res.failed[p.name] != nil || round >= o.rounds && !p.floor && p.name != "tenon" {
				continue
			}
			fmt.Fprintf(os.Stderr, "\r\033[K%s, round %d: %s ", s.name, round+1, p.name)
			one, err := s.run(p, o)
			if err != nil {
				res.failed[p.name] = err
				continue
			}
			res.samples[p.name] = append(res.samples[p.name], one)
		}
	}
	res.load = max(load, loadAverage())
	fmt.Fprint(os.Stderr, "\r\033[K")
	res.table(os.Stdout)
	return res
}
