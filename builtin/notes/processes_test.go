package notes

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// jobs are what several processes do to one vault at the same time, each with a
// server of its own.
var jobs = map[string]edittest.Job{"append": appendJob, "patch": patchJob, "create": createJob}

func writer(dir string) (*server.Server, func(tool string, args any) (*mcp.CallToolResult, bool)) {
	s, err := New(Config{Vault: dir})
	if err != nil {
		panic(err)
	}
	return s, func(tool string, args any) (*mcp.CallToolResult, bool) {
		params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
		if err != nil {
			panic(err)
		}
		res, err := s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: params})
		if err != nil {
			panic(err)
		}
		r, err := mcp.DecodeCallToolResult(res.Body)
		if err != nil {
			panic(err)
		}
		return r, !r.IsError
	}
}

// appendJob adds lines to one note, without saying which version it means.
func appendJob(dir, name string, n int) (done []string) {
	s, call := writer(dir)
	defer s.Close()
	for i := range n {
		line := fmt.Sprintf("%s-%d.", name, i)
		if _, ok := call("update_note", map[string]any{"path": "note.md", "mode": []string{"append", "prepend"}[i%2], "text": line}); ok {
			done = append(done, line)
		}
	}
	return done
}

// patchJob reads a note and replaces a text of it, again and again until it
// works.
func patchJob(dir, name string, n int) (done []string) {
	s, call := writer(dir)
	defer s.Close()
	for i := range n {
		line := fmt.Sprintf("%s-%d.", name, i)
		for range 100 {
			r, ok := call("read_note", map[string]any{"path": "note.md"})
			if !ok {
				continue
			}
			var p struct{ Version string }
			if err := json.Unmarshal(r.StructuredContent, &p); err != nil {
				panic(err)
			}
			if _, ok := call("update_note", map[string]any{"path": "note.md", "mode": "replace_text", "version": p.Version, "old_text": "END", "text": line + "\nEND"}); ok {
				done = append(done, line)
				break
			}
		}
	}
	return done
}

// createJob creates notes whose names all processes use.
func createJob(dir, name string, n int) (done []string) {
	s, call := writer(dir)
	defer s.Close()
	for i := range n {
		if _, ok := call("create_note", map[string]any{"path": fmt.Sprintf("new/%d.md", i), "text": name}); ok {
			done = append(done, fmt.Sprintf("new/%d.md %s", i, name))
		}
	}
	return done
}

// S1, S2: a change that was reported as done is in the note, and adding text
// never fails because others add text too.
func TestProcessesLoseNoChange(t *testing.T) {
	for _, job := range []string{"append", "patch"} {
		for _, processes := range []int{2, 4} {
			t.Run(fmt.Sprint(job, processes), func(t *testing.T) {
				dir := t.TempDir()
				files(t, dir, map[string]string{"note.md": "END\n"})
				reported := edittest.Run(t, job, dir, processes)
				edittest.CheckLines(t, filepath.Join(dir, "note.md"), nil, reported)
				for i, all := range reported {
					if job == "append" && len(all) != edittest.Changes()/processes {
						t.Errorf("writer %d: %d changes were made", i, len(all))
					}
				}
			})
			t.Run(fmt.Sprint(job, processes, "editor"), func(t *testing.T) {
				dir := t.TempDir()
				files(t, dir, map[string]string{"note.md": "END\n"})
				file := filepath.Join(dir, "note.md")
				stop := edittest.StartEditor(t, file)
				reported := edittest.Run(t, job, dir, processes)
				saved, dropped := stop()
				edittest.CheckLines(t, file, dropped, append(reported, saved))
			})
		}
	}
}

// S1: of several processes that create a note, one does.
func TestProcessesCreateNotesOnce(t *testing.T) {
	const processes = 4
	dir := t.TempDir()
	made := map[string]string{}
	for _, all := range edittest.Run(t, "create", dir, processes) {
		for _, d := range all {
			var name, who string
			fmt.Sscan(d, &name, &who)
			if made[name] != "" {
				t.Errorf("%s was created by %s and by %s", name, made[name], who)
			}
			made[name] = who
			expect(t, name, fileText(t, dir, name), who)
		}
	}
	if len(made) != edittest.Changes()/processes {
		t.Errorf("%d notes were created", len(made))
	}
}
