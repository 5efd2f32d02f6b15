// Command host measures the host with a model that is a script: how soon it is
// there when one server hangs, how soon a stopped call and a killed server are
// over, what is left of its servers when it is killed, what many tools cost, and
// whether the search finds them.
//
//	go run ./host
//
// It says what each number should be, and exits with 1 if one is not.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"
)

func main() {
	play := flag.String("play", "", "be a server, or a host that is going to be killed (used by the program itself)")
	rounds := flag.Int("rounds", 7, "how often each time is taken; the median counts")
	data := flag.String("data", "../app/host/testdata", "where the labelled tools and questions are")
	flag.Parse()
	log.SetFlags(0)
	if *play != "" {
		if err := player(*play); err != nil {
			log.Fatal(err)
		}
		return
	}
	s := &sheet{}
	for _, measure := range []func(*sheet) error{
		func(s *sheet) error { return timeToPrompt(s, *rounds) },
		func(s *sheet) error { return cancelLatency(s, *rounds) },
		func(s *sheet) error { return reconnect(s, max(3, *rounds/2)) },
		orphans,
		func(s *sheet) error { return manyTools(s, *data) },
	} {
		if err := measure(s); err != nil {
			log.Fatal(err)
		}
	}
	if s.missed > 0 {
		fmt.Printf("%d of the numbers are not what they should be\n", s.missed)
		os.Exit(1)
	}
}

// A sheet prints numbers as they come, and counts those that miss their mark.
type sheet struct{ missed int }

// put prints a number. An empty mark means that it is only for information.
func (s *sheet) put(what, value, mark string, good bool) {
	verdict := ""
	if mark != "" {
		verdict = "ok"
		if !good {
			verdict = "MISSED"
			s.missed++
		}
	}
	fmt.Printf("%-64s %14s   %-14s %s\n", what, value, mark, verdict)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
