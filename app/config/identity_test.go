package config

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// identities returns the identity of the user's server s, seen from two
// folders.
func identities(t *testing.T, entry string, prepare func(one, two string)) (one, two map[string]string) {
	t.Helper()
	user, a, b := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(user, "tenon.json"), []byte(`{"mcpServers":{"s":`+entry+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(a, b)
	}
	var out []map[string]string
	for _, dir := range []string{a, b} {
		t.Chdir(dir)
		c, err := Load(&Options{Dir: dir, UserDir: user, Home: user})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Server("s")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s.Identity())
	}
	return out[0], out[1]
}

func put(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// An approval that was given in one folder does not count in another one if
// the same entry can run something else there.
func TestIdentityIsBoundToTheFolder(t *testing.T) {
	here := func(name string) func(one, two string) {
		return func(one, two string) { put(t, filepath.Join(one, name)); put(t, filepath.Join(two, name)) }
	}
	there := func(name string) func(one, two string) {
		return func(_, two string) { put(t, filepath.Join(two, name)) }
	}
	for name, c := range map[string]struct {
		entry   string
		prepare func(one, two string)
		same    bool
	}{
		"a script":                    {`{"command":"/usr/bin/python3","args":["tool.py"]}`, nil, false},
		"a script after a flag":       {`{"command":"/bin/x","args":["--config","conf/a"]}`, nil, false},
		"a script in a flag":          {`{"command":"/bin/x","args":["--config=a.json"]}`, nil, false},
		"the folder itself":           {`{"command":"/bin/x","args":["."]}`, nil, false},
		"a name that is there":        {`{"command":"/bin/x","args":["tool"]}`, here("tool"), false},
		"a name that is in one only":  {`{"command":"/bin/x","args":["tool"]}`, there("tool"), false},
		"a module":                    {`{"command":"/bin/x","args":["-m","tool"]}`, here("tool.py"), false},
		"an installed package":        {`{"command":"npx","args":["-y","@me/tool@1.2.3"]}`, there("node_modules/@me/tool"), false},
		"an installed program":        {`{"command":"npx","args":["tool"]}`, there("node_modules/.bin/tool"), false},
		"a runner":                    {`{"command":"make","args":["serve"]}`, nil, false},
		"a relative command":          {`{"command":"./tool"}`, nil, false},
		"a variable":                  {`{"command":"/bin/x","env":{"PYTHONPATH":"/a:./lib"}}`, nil, false},
		"the project":                 {`{"command":"/bin/x","args":["${workspaceFolder}/tool.py"],"cwd":"/"}`, nil, false},
		"nothing that could be there": {`{"command":"/bin/x","args":["stdio","--level","3","--version=1.2","/abs/tool.py","https://example.com/x.py"]}`, nil, true},
		"a package":                   {`{"command":"npx","args":["-y","@me/tool@1.2.3","pkg"]}`, nil, true},
		"a fixed folder":              {`{"command":"/usr/bin/python3","args":["tool.py"],"cwd":"/"}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if one, two := identities(t, c.entry, c.prepare); maps.Equal(one, two) != c.same {
				t.Errorf("one %v\ntwo %v", one, two)
			}
		})
	}
}

// A command without a path stands for the program that PATH leads to.
func TestIdentityIsBoundToTheProgram(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("needs a program without an extension")
	}
	one, two := t.TempDir(), t.TempDir()
	put(t, filepath.Join(one, "thelper"))
	put(t, filepath.Join(two, "thelper"))
	s := Server{Name: "s", Kind: Stdio, Command: "thelper", entry: Entry{Command: "thelper"}}
	t.Setenv("PATH", one)
	before := s.Identity()
	t.Setenv("PATH", two)
	if after := s.Identity(); maps.Equal(before, after) {
		t.Errorf("%v", after)
	}
}

// The option of a builtin stands for the folder that a symbolic link leads to.
func TestIdentityIsBoundToTheRealRoot(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	identity := func(to string) map[string]string {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, to), 0o700); err != nil {
			t.Fatal(err)
		}
		os.Remove(link)
		if err := os.Symlink(filepath.Join(dir, to), link); err != nil {
			t.Skip(err)
		}
		s, err := Parse("builtin:fs?root="+filepath.ToSlash(link), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Identity()
	}
	if one, two := identity("a"), identity("b"); maps.Equal(one, two) {
		t.Errorf("%v", two)
	}
}
