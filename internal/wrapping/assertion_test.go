package wrapping

import (
	"encoding/json"
	"errors"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/tenon-mcp/tenon/"

// A listed is a package as the go command describes it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// No code asks a Handler what else it is: a wrapper has no other methods. What a
// Handler can do besides travels through Serve.
func TestNoTypeAssertionOnAHandler(t *testing.T) {
	all := list(t)
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	checked := 0
	for _, p := range all {
		if !strings.HasPrefix(p.ImportPath, module) {
			continue
		}
		checked++
		for _, at := range assertions(t, fset, imports, p) {
			t.Errorf("%s: a type assertion on an mcp.Handler", fset.Position(at))
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages were looked at", checked)
	}
}

// list describes the packages of the library and all that they import.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", "./server", "./client", "./transport/...", "./mcptest")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		needtest.Missing(t, "go list: "+err.Error())
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// assertions finds the type assertions and type switches of a package whose
// operand is a Handler.
func assertions(t *testing.T, fset *token.FileSet, imports types.Importer, p listed) (found []token.Pos) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.TypeAssertExpr); ok && isHandler(info.TypeOf(a.X)) {
				found = append(found, a.Pos())
			}
			return true
		})
	}
	return found
}

// isHandler reports whether a type is mcp.Handler or mcp.Conn.
func isHandler(t types.Type) bool {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"mcp" {
		return false
	}
	return named.Obj().Name() == "Handler" || named.Obj().Name() == "Conn"
}

// The test above can find what it looks for.
func TestAssertionsAreFound(t *testing.T) {
	dir := t.TempDir()
	const src = "package mcp\ntype Handler interface{ Serve() }\nfunc f(h Handler) { _, _ = h.(interface{ Done() }); switch h.(type) {} }\n"
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	p := listed{ImportPath: module + "mcp", Dir: dir, GoFiles: []string{"x.go"}}
	if got := assertions(t, token.NewFileSet(), importer.Default(), p); len(got) != 2 {
		t.Errorf("found %d", len(got))
	}
}
