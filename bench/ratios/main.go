// Command ratios reads the output of go test -bench and prints, for each
// benchmark, the median of its rounds and how it compares with its peers.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"text/tabwriter"
)

var row = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

func main() {
	rounds := map[string][][3]float64{}
	var order []string
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(in.Text())
		m := row.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+2], 64)
		}
		if rounds[m[1]] == nil {
			order = append(order, m[1])
		}
		rounds[m[1]] = append(rounds[m[1]], v)
	}
	if len(order) == 0 {
		return
	}
	fmt.Println("\nmedians, and how much of each peer's cost the row has")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\tns/op\tB/op\tallocs/op")
	for _, base := range order {
		fmt.Fprintf(w, "\t/ %s", base[len("BenchmarkCall/"):])
	}
	fmt.Fprintln(w)
	for _, name := range order {
		v := median(rounds[name])
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f", name, v[0], v[1], v[2])
		for _, base := range order {
			b := median(rounds[base])
			fmt.Fprintf(w, "\t%.2f %.2f %.2f", v[0]/b[0], v[1]/b[1], v[2]/b[2])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func median(rounds [][3]float64) (m [3]float64) {
	for i := range m {
		var col []float64
		for _, r := range rounds {
			col = append(col, r[i])
		}
		slices.Sort(col)
		m[i] = col[len(col)/2]
	}
	return m
}
