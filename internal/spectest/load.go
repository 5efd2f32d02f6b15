package spectest

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Spec is the published specification.
type Spec struct {
	dir       string
	revisions map[mcp.Revision]*revision
}

// Load returns the specification. It skips the test if the files are absent,
// and fails it if they cannot be read.
func Load(t testing.TB) *Spec {
	t.Helper()
	spec, err := find()
	if err != nil {
		t.Fatal(err)
	}
	if spec == nil {
		t.Skip("the published schemas are absent: put them into ../shared/protocol/schema, beside the repository, to run this test")
	}
	return spec
}

// Find returns the specification, or nil if the files are missing, for
// callers without a test to skip. It panics if the files cannot be read.
func Find() *Spec {
	spec, err := find()
	if err != nil {
		panic(err)
	}
	return spec
}

func find() (*Spec, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "..", "shared", "protocol")
	if _, err := os.Stat(filepath.Join(dir, "schema")); err != nil {
		return nil, nil
	}
	return loadOnce(dir)
}

// moduleRoot returns the directory of this module's go.mod, at or above the
// working directory. It skips nested modules.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		line, _, _ := strings.Cut(string(mod), "\n")
		if err == nil && strings.TrimSpace(line) == "module github.com/tenon-mcp/tenon" {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the go.mod of this module lies neither in nor above the working directory")
		}
		dir = up
	}
}

var loaded struct {
	sync.Mutex
	spec *Spec
	err  error
}

func loadOnce(dir string) (*Spec, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.spec == nil && loaded.err == nil {
		loaded.spec, loaded.err = load(dir)
	}
	return loaded.spec, loaded.err
}

func load(dir string) (*Spec, error) {
	s := &Spec{dir: dir, revisions: make(map[mcp.Revision]*revision)}
	for _, rev := range mcp.Revisions() {
		r, err := loadRevision(rev, filepath.Join(dir, "schema", string(rev)+".json"))
		if err != nil {
			return nil, err
		}
		s.revisions[rev] = r
	}
	return s, nil
}

// An Example is one of the official example messages of the newest revision.
type Example struct {
	// Type is the definition it is an example of, such as "CallToolResult".
	Type string
	// Name is the name of the file, without directory.
	Name string
	// Data is the JSON text.
	Data []byte
}

// Examples goes through all examples, in the order of their types and names.
// It fails the test if there are none or one cannot be read.
func (s *Spec) Examples(t testing.TB) iter.Seq[Example] {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "examples", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no example messages in ../shared/protocol/examples (%v)", err)
	}
	return func(yield func(Example) bool) {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e := Example{Type: filepath.Base(filepath.Dir(file)), Name: filepath.Base(file), Data: data}
			if !yield(e) {
				return
			}
		}
	}
}
