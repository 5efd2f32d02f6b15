// Command notes measures the notes server on a vault that it makes: how soon it
// answers after its start, how soon its index is ready, how long a search
// takes, and how much memory it holds.
//
//	go run ./notes -notes 8000 -megabytes 50
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/builtin/notes"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

func main() {
	serve := flag.String("serve", "", "serve this vault (used by the program itself)")
	once := flag.String("once", "", "search this vault once and end (used by the program itself)")
	cache := flag.String("cache", "off", "where the index is kept (used by the program itself)")
	many := flag.Int("notes", 8000, "how many notes")
	megabytes := flag.Int("megabytes", 50, "how large they are together")
	searches := flag.Int("searches", 2000, "how many searches")
	flag.Parse()
	log.SetFlags(0)
	var err error
	switch {
	case *serve != "":
		err = play(*serve)
	case *once != "":
		err = searchOnce(*once, *cache)
	default:
		err = measure(*many, *megabytes<<20, *searches)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func play(vault string) error {
	s, err := notes.New(notes.Config{Vault: vault, Cache: "off"})
	if err != nil {
		return err
	}
	defer s.Close()
	return stdio.Serve(context.Background(), s, nil)
}

func measure(many, bytes, searches int) error {
	dir, err := os.MkdirTemp("", "notes-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := newAuthor()
	total, err := a.write(dir, many, bytes)
	if err != nil {
		return err
	}
	fmt.Printf("notes: %d notes, %.1f MB\n", many, float64(total)/1e6)
	var queries []string
	for range searches {
		queries = append(queries, a.some(1+a.r.IntN(3)))
	}
	if err := outside(dir, queries); err != nil {
		return err
	}
	if err := oneShots(dir); err != nil {
		return err
	}
	return inside(dir, queries)
}

// outside measures a process as a client sees it.
func outside(dir string, queries []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-serve", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewReaderSize(out, 1<<20)
	ask := func(id int, method, params string) (string, error) {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			params += ","
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`+"\n", id, method, params, meta)
		line, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(line, `"result"`) {
			err = fmt.Errorf("%s failed: %s", method, line)
		}
		return line, err
	}
	if _, err := ask(1, mcp.MethodDiscover, ""); err != nil {
		return err
	}
	fmt.Printf("notes: first answer after the start of the process: %v (at most 50 ms)\n", round(time.Since(start)))
	if _, err := ask(2, mcp.MethodToolsCall, search("warm")); err != nil {
		return err
	}
	fmt.Printf("notes: index ready: %v (at most 2 s), with %s of processor time on %d processors\n", round(time.Since(start)), cpu(cmd.Process.Pid), runtime.NumCPU())
	resident(cmd.Process.Pid, "after indexing")
	for i, q := range queries {
		if _, err := ask(3+i, mcp.MethodToolsCall, search(q)); err != nil {
			return err
		}
	}
	resident(cmd.Process.Pid, fmt.Sprintf("after %d searches", len(queries)))
	return nil
}

// searchOnce answers one search, as a call from a command line does.
func searchOnce(vault, cache string) error {
	s, err := notes.New(notes.Config{Vault: vault, Cache: cache})
	if err != nil {
		return err
	}
	_, err = s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage("{" + search("garden") + "}")})
	return errors.Join(err, s.Close())
}

// oneShots measures processes that answer one search and end: the first, which
// has no index to begin with, and those after it.
func oneShots(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "notes-cache-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	time.Sleep(2 * time.Second) // notes that are younger when they are read are read again
	var times []time.Duration
	var busy time.Duration
	for range 12 {
		start := time.Now()
		cmd := exec.Command(self, "-once", dir, "-cache", cache)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		times = append(times, time.Since(start))
		busy = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	kept, err := os.ReadDir(cache)
	if err != nil || len(kept) != 1 {
		return fmt.Errorf("%d files in the cache, %w", len(kept), err)
	}
	info, err := kept[0].Info()
	if err != nil {
		return err
	}
	later := slices.Sorted(slices.Values(times[1:]))
	fmt.Printf("notes: a process for one search: the first %v, later ones %v (at most 300 ms, p50 of %d) with %v of processor time, index on disk %.1f MB\n",
		round(times[0]), round(later[len(later)/2]), len(later), round(busy), float64(info.Size())/1e6)
	return nil
}

// inside measures searches without a transport.
func inside(dir string, queries []string) error {
	s, err := notes.New(notes.Config{Vault: dir, Cache: "off"})
	if err != nil {
		return err
	}
	defer s.Close()
	run := func(q string) (time.Duration, error) {
		start := time.Now()
		res, err := s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage("{" + search(q) + "}")})
		if err == nil && strings.Contains(string(res.Body), `"isError"`) {
			err = fmt.Errorf("the search failed: %s", res.Body)
		}
		return time.Since(start), err
	}
	if _, err := run("warm"); err != nil {
		return err
	}
	runtime.GC()
	var times []time.Duration
	for _, q := range queries {
		d, err := run(q)
		if err != nil {
			return err
		}
		times = append(times, d)
	}
	slices.Sort(times)
	fmt.Printf("notes: search_notes in-process, ten notes with snippets: p50 %v (at most 1 ms), p95 %v, p99 %v\n",
		round(times[len(times)/2]), round(times[len(times)*95/100]), round(times[len(times)*99/100]))
	return nil
}

func search(query string) string {
	return fmt.Sprintf(`"name":"search_notes","arguments":{"query":%q}`, query)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// cpu is how long a process has kept processors busy: on a machine that does
// other things as well it says more than the clock.
func cpu(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "an unknown amount"
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may have anything in it
	fields := strings.Fields(rest)
	var user, system int // in hundredths of a second
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return (time.Duration(user+system) * 10 * time.Millisecond).String()
}

// resident prints how much memory a process has, and has had at most.
func resident(pid int, when string) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		fmt.Println("notes: memory is measured on Linux only")
		return
	}
	var now, most int
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmRSS: %d kB", &now)
		fmt.Sscanf(line, "VmHWM: %d kB", &most)
	}
	fmt.Printf("notes: memory %s: %.1f MB (at most 60 MB), peak %.1f MB\n", when, float64(now)*1024/1e6, float64(most)*1024/1e6)
}
