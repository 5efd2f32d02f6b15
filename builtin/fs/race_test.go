package fs

import (
	"github.com/tenon-mcp/tenon/internal/needtest"
	"io"
	"os"
	"testing"
)

// What was found to be inside a moment ago, and is behind a link that leads out
// by now, is not reached by any operation.
func TestStalePlaces(t *testing.T) {
	operations := map[string]func(c *call, p location, info os.FileInfo) error{
		"open": func(c *call, p location, _ os.FileInfo) error {
			f, _, err := c.openFile("f.txt", p)
			if err == nil {
				f.Close()
			}
			return err
		},
		"list":      func(c *call, p location, _ os.FileInfo) error { _, err := readDir(p.parent()); return err },
		"overwrite": func(c *call, p location, info os.FileInfo) error { return replace(p, []byte("LEAKED"), info) },
		"create": func(c *call, p location, _ os.FileInfo) error {
			return replace(p.parent().join("new"), []byte("LEAKED"), nil)
		},
		"mkdir": func(c *call, p location, _ os.FileInfo) error {
			return p.root.dir.MkdirAll(p.parent().join("a/b").rel, 0o777)
		},
		"delete": func(c *call, p location, _ os.FileInfo) error { return p.root.dir.RemoveAll(p.rel) },
		"move out": func(c *call, p location, info os.FileInfo) error {
			return c.move(location{p.root, "x"}, p.parent().join("x"), info)
		},
		"move in": func(c *call, p location, info os.FileInfo) error { return c.move(p, location{p.root, "y"}, info) },
		"info": func(c *call, p location, info os.FileInfo) error {
			if created, _ := times(p, info); created.IsZero() {
				return os.ErrNotExist
			}
			return nil
		},
	}
	for name, operate := range operations {
		b := newBench(t, Config{}, map[string]string{"dir/f.txt": "inside", "x": "mine"})
		plant(t, b.near, map[string]string{"outside/f.txt": "SECRET"})
		<-b.swept
		c := &call{files: b.files, areas: b.allRoots()}
		p, info, err := c.existing("dir/f.txt")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(b.path("dir")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../outside", b.path("dir")); err != nil {
			t.Fatal(err)
		}
		if err := operate(c, p, info); err == nil && name != "info" {
			t.Errorf("%s: it worked", name)
		}
		got, err := os.ReadDir(b.path("../outside"))
		if err != nil || len(got) != 1 || b.have("../outside/f.txt") != "SECRET" {
			t.Errorf("%s: outside there is now %v: %s", name, got, b.have("../outside/f.txt"))
		}
		expect(t, name+": what is inside", b.have("x"), "mine")
	}
}

// A file that is exchanged right before it is opened: by a link that leads out,
// by a pipe that nobody writes to, by a directory.
func TestExchangedBeforeItIsOpened(t *testing.T) {
	for name, exchange := range map[string]func(b *bench) error{
		"a link":           func(b *bench) error { return os.Symlink("../outside/f.txt", b.path("f.txt")) },
		"an absolute link": func(b *bench) error { return os.Symlink(b.near+"/outside/f.txt", b.path("f.txt")) },
		"a pipe":           func(b *bench) error { return mkfifo(b.path("f.txt")) },
		"a directory":      func(b *bench) error { return os.Mkdir(b.path("f.txt"), 0o755) },
	} {
		b := newBench(t, Config{}, map[string]string{"f.txt": "inside"})
		plant(t, b.near, map[string]string{"outside/f.txt": "SECRET"})
		beforeOpen = func() {
			os.Remove(b.path("f.txt"))
			if err := exchange(b); err != nil {
				needtest.Missing(t, err.Error())
			}
		}
		f, _, err := b.openFile("f.txt", location{b.roots[0], "f.txt"})
		beforeOpen = func() {}
		if err == nil {
			data, _ := io.ReadAll(f)
			f.Close()
			t.Errorf("%s was opened: %q", name, data)
		}
	}
}
