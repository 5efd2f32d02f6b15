package discovery

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const manifest = `{"manifest_version":"0.3","name":"hello","version":"1.0.0","description":"Says hello","author":{"name":"Ada"},
	"server":{"type":"binary","entry_point":"server/hello","mcp_config":{"command":"${__dirname}/server/hello","args":["--dir","${user_config.dirs}","--level=${user_config.level}","${user_config.extra}","${HOME}${/}x","${unknown}"],
	"env":{"KEY":"${user_config.key}","DIRS":"${user_config.dirs}","EXTRA":"${user_config.extra}","PREFIX":"a${user_config.extra}b"},
	"platform_overrides":{"plan9":{"command":"other"}}}},
	"user_config":{"dirs":{"type":"directory","title":"Folders","description":"","multiple":true,"required":true},"level":{"type":"number","title":"Level","description":"How much","default":3,"min":1,"max":5},
	"key":{"type":"string","title":"Key","description":"Your key","sensitive":true,"required":true},"extra":{"type":"string","title":"Extra","description":""}}}`

// An entry of a zip file. A name that ends with a slash is a folder.
type entry struct {
	name, body string
	mode       fs.FileMode
	change     func(*zip.FileHeader)
}

// pack writes a zip file.
func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Unix(1e9, 0)}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		if e.change != nil {
			e.change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.body)); err != nil && e.body != "" {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func good() []entry {
	return []entry{{name: "manifest.json", body: manifest}, {name: "server/"}, {name: "server/hello", body: "#!/bin/sh\n", mode: 0o755}, {name: "lib/a.txt", body: "a"}}
}

func TestBundleBecomesACommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	b, err := OpenBundle(pack(t, good()...), "")
	if err != nil {
		t.Fatal(err)
	}
	d := b.Describe("hello.mcpb", "/bundles")
	o := d.Options[0]
	if o.Unsupported != "" || d.Publisher != "Ada" || o.Program != "" {
		t.Fatalf("%+v", o)
	}
	if got := names(o.Inputs); got != "dirs, extra, key, level" {
		t.Errorf("the inputs are %s", got)
	}
	if _, err := o.Entry("h", nil); err == nil || err.Error() != "no value for dirs, key" {
		t.Errorf("without values: %v", err)
	}
	e, err := o.Entry("h", Values{"dirs": {{Text: "/a"}, {Text: "/b c"}}, "key": {{Text: "s", Ref: "${keyring:h.key}"}}, "level": {{Text: "3"}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("/bundles", b.SHA256)
	want := []string{"--dir", "/a", "/b c", "--level=3", filepath.Join(home, "x"), "$${unknown}"}
	if e.Command != filepath.Join(dir, "server", "hello") || !slices.Equal(e.Args, want) || e.Dir != dir {
		t.Errorf("got %q %q in %s", e.Command, e.Args, e.Dir)
	}
	if len(e.Env) != 3 || e.Env["KEY"] != "${keyring:h.key}" || e.Env["DIRS"] != "/a"+string(filepath.ListSeparator)+"/b c" || e.Env["PREFIX"] != "ab" {
		t.Errorf("the environment is %q", e.Env)
	}
	if list := o.SecretArguments(); list != nil {
		t.Errorf("secret arguments: %q", list)
	}
}

func TestBundleIsUnpackedOnceAndPrivately(t *testing.T) {
	entries := good()
	entries[2].mode = 0 // made on Windows: nothing may be executed
	data := pack(t, entries...)
	b, err := OpenBundle(data, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "bundles")
	b.Describe("", dir)
	old := filepath.Join(dir, tempPrefix+"1") // of a process that was killed
	if err := os.MkdirAll(filepath.Join(old, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Unpack(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, b.SHA256: 0o700, b.SHA256 + "/server/hello": 0o700, b.SHA256 + "/lib": 0o700, b.SHA256 + "/lib/a.txt": 0o600, b.SHA256 + "/manifest.json": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info, err, want)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("something else is in the folder: %v, %v", all, err)
	}
	if _, err := OpenBundle(data, strings.ToUpper(b.SHA256)); err != nil {
		t.Errorf("its own digest: %v", err)
	}
	if _, err := OpenBundle(data, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), b.SHA256) {
		t.Errorf("another digest: %v", err)
	}
}

// A bundle that cannot be unpacked leaves nothing behind.
func TestBrokenBundleLeavesNothing(t *testing.T) {
	data := pack(t, append(good(), entry{name: "big", body: strings.Repeat("x", 1000), change: func(h *zip.FileHeader) { h.Method = zip.Store }})...)
	at := bytes.Index(data, bytes.Repeat([]byte("x"), 1000))
	data[at] = 'y' // the checksum is wrong
	b, err := OpenBundle(data, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := b.Unpack(dir); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("unpacked: %v", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 0 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

func TestHostileBundlesAreRefused(t *testing.T) {
	dirMode := func(h *zip.FileHeader) { h.SetMode(fs.ModeDir | 0o755) }
	for name, test := range map[string]struct {
		add  []entry
		want string
	}{
		"parent":               {[]entry{{name: "../evil", body: "x"}}, "leads elsewhere"},
		"parent inside":        {[]entry{{name: "a/../../evil", body: "x"}}, "leads elsewhere"},
		"absolute":             {[]entry{{name: "/etc/evil", body: "x"}}, "leads elsewhere"},
		"backslash":            {[]entry{{name: `..\evil`, body: "x"}}, "leads elsewhere"},
		"drive":                {[]entry{{name: "C:evil", body: "x"}}, "leads elsewhere"},
		"stream":               {[]entry{{name: "a.txt:hidden", body: "x"}}, "leads elsewhere"},
		"dot":                  {[]entry{{name: "./a", body: "x"}}, "leads elsewhere"},
		"empty":                {[]entry{{name: "a//b", body: "x"}}, "leads elsewhere"},
		"NUL":                  {[]entry{{name: "a\x00b", body: "x"}}, "invalid characters"},
		"escape sequence":      {[]entry{{name: "a\x1b[31mb", body: "x"}}, "invalid characters"},
		"line break":           {[]entry{{name: "a\nb", body: "x"}}, "invalid characters"},
		"not UTF-8":            {[]entry{{name: "a\xff", body: "x"}}, "invalid characters"},
		"device name":          {[]entry{{name: "lib/nul.txt", body: "x"}}, "Windows does not allow"},
		"trailing dot":         {[]entry{{name: "lib./x", body: "x"}}, "Windows does not allow"},
		"long":                 {[]entry{{name: strings.Repeat("a", 1025), body: "x"}}, "too long"},
		"symbolic link":        {[]entry{{name: "link", body: "/etc", mode: fs.ModeSymlink | 0o777}}, "link or a device"},
		"link, then below it":  {[]entry{{name: "link", body: "/tmp", mode: fs.ModeSymlink | 0o777}, {name: "link/evil", body: "x"}}, "link or a device"},
		"device":               {[]entry{{name: "dev", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}}, "link or a device"},
		"pipe":                 {[]entry{{name: "pipe", mode: fs.ModeNamedPipe | 0o666}}, "link or a device"},
		"socket":               {[]entry{{name: "sock", mode: fs.ModeSocket | 0o666}}, "link or a device"},
		"folder without slash": {[]entry{{name: "dir", change: dirMode}}, "neither a file nor a folder"},
		"twice":                {[]entry{{name: "x", body: "1"}, {name: "x", body: "2"}}, "would be the same"},
		"second manifest":      {[]entry{{name: "Manifest.JSON", body: "{}"}}, "would be the same"},
		"case":                 {[]entry{{name: "Lib/A.txt", body: "x"}}, "would be the same"},
		"Unicode form":         {[]entry{{name: "caf\u00e9", body: "1"}, {name: "cafe\u0301", body: "2"}}, "would be the same"},
		"file and folder":      {[]entry{{name: "lib/a.txt/b", body: "x"}}, "is a file and a folder"},
		"file and folder case": {[]entry{{name: "LIB/A.TXT/b", body: "x"}}, "is a file and a folder"},
		"bomb by ratio":        {[]entry{{name: "zeros", body: strings.Repeat("\x00", 40<<20)}}, "times larger"},
		"small bomb":           {[]entry{{name: "zeros", body: strings.Repeat("\x00", 2<<20)}}, "times larger"},
		"encrypted":            {[]entry{{name: "x", body: "x", change: func(h *zip.FileHeader) { h.Flags |= 1 }}}, "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := OpenBundle(pack(t, append(good(), test.add...)...), ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":        {nil, "read the bundle"},
		"no zip":       {[]byte("PK\x03\x04 something else"), "read the bundle"},
		"cut off":      {pack(t, good()...)[:200], "read the bundle"},
		"no manifest":  {pack(t, good()[1:]...), "it has no manifest.json"},
		"manifest dir": {pack(t, entry{name: "manifest.json/"}), "it has no manifest.json"},
		"big manifest": {pack(t, entry{name: "manifest.json", body: strings.Repeat(" ", 2<<20), change: func(h *zip.FileHeader) { h.Method = zip.Store }}), "larger than"},
		"many files":   {pack(t, many(maxFiles+1)...), "more than"},
		"says too big": {lie(t, pack(t, good()...), 24, 2<<30), "larger than"},
		"overlap":      {lie(t, pack(t, good()...), 20, 1<<20), "overlap"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := OpenBundle(test.data, ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Files of up to 1 MiB may compress well: a small bundle of text is no bomb.
func TestSmallBundlesMayCompressWell(t *testing.T) {
	if _, err := OpenBundle(pack(t, append(good(), entry{name: "zeros", body: strings.Repeat("\x00", 900<<10)})...), ""); err != nil {
		t.Error(err)
	}
}

func many(n int) []entry {
	all := make([]entry, n)
	for i := range all {
		all[i].name = "d" + string(rune('a'+i%26)) + "/" + strings.Repeat("x", i/26%50) + "/" + string(rune(0x4e00+i/26/50)) + "/"
	}
	return all
}

// lie changes a size in the last entry of the central directory.
func lie(t *testing.T, data []byte, offset int, size uint32) []byte {
	t.Helper()
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	if at < 0 {
		t.Fatal("there is no central directory")
	}
	data = slices.Clone(data)
	binary.LittleEndian.PutUint32(data[at+offset:], size)
	return data
}

// A file that is larger than the bundle says is not written to its end.
func TestSizesThatAreWrongAreNoticed(t *testing.T) {
	data := lie(t, pack(t, append(good(), entry{name: "zeros", body: strings.Repeat("\x00", 10<<20)})...), 24, 10)
	b, err := OpenBundle(data, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Unpack(t.TempDir()); err == nil {
		t.Error("it was unpacked")
	}
}

func TestInvalidManifestsAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		`"0.3"→"0.9"`:                                          "Tenon reads 0.1, 0.2, 0.3, 0.4",
		`"manifest_version":"0.3",→`:                           "manifest_version is",
		`"name":"hello",→`:                                     "name is missing",
		`"author":{"name":"Ada"}→"author":{}`:                  "author.name is missing",
		`"author":{"name":"Ada"}→"author":"Ada"`:               "author",
		`"type":"binary"→"type":"shell"`:                       "server.type must be",
		`"entry_point":"server/hello"→"entry_point":"../x"`:    "inside the bundle",
		`"entry_point":"server/hello"→"entry_point":"/bin/sh"`: "inside the bundle",
		`"entry_point":"server/hello",→`:                       "server.entry_point is missing",
		`"command":"${__dirname}/server/hello",→`:              "command is missing",
		`"type":"directory"→"type":"folder"`:                   "user_config.dirs: type must be",
		`"default":3→"default":{}`:                             "user_config.level: default must be",
		`"default":3→"default":[1]`:                            "user_config.level: default must be",
		`"name":"hello"→"name":"hello","name":"other"`:         "duplicate",
	} {
		from, to, _ := strings.Cut(change, "→")
		if !strings.Contains(manifest, from) {
			t.Fatalf("%q is not in the manifest", from)
		}
		if _, err := ParseManifest([]byte(strings.Replace(manifest, from, to, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

func TestBundlesThatCannotRun(t *testing.T) {
	for change, want := range map[string]string{
		`"entry_point":"server/hello"→"entry_point":"server/none"`:                "it has no file server/none",
		`${user_config.extra}→${user_config.nothing}`:                             "user_config.nothing}, which user_config does not define",
		`"user_config":{→"compatibility":{"platforms":["plan9"]},"user_config":{`: "it supports plan9",
		`"command":"${__dirname}/server/hello"→"command":"../../bin/sh"`:          "neither a file of the bundle nor the name of a program",
		`"command":"${__dirname}/server/hello"→"command":"${__dirname}/../sh"`:    "neither a file of the bundle nor the name of a program",
		`"command":"${__dirname}/server/hello"→"command":"./server/none"`:         "neither a file of the bundle nor the name of a program",
		`"KEY":→"A B":`: "not the name of an environment variable",
	} {
		from, to, _ := strings.Cut(change, "→")
		entries := good()
		entries[0].body = strings.Replace(manifest, from, to, 1)
		b, err := OpenBundle(pack(t, entries...), "")
		if err != nil {
			t.Fatal(err)
		}
		if o := b.Describe("", "/b").Options[0]; !strings.Contains(o.Unsupported, want) {
			t.Errorf("%s: %q, want %q", change, o.Unsupported, want)
		}
	}
}

func TestOtherTypesOfBundles(t *testing.T) {
	head := `{"manifest_version":"0.4","name":"h","version":"1","description":"d","author":{"name":"a"},"server":`
	for server, want := range map[string]string{
		`{"type":"uv","entry_point":"src/server.py"}`: "uv run --directory DIR src/server.py",
		`{"type":"node","entry_point":"src/server.py","mcp_config":{"command":"node","args":["${__dirname}/src/server.py"]}}`:                                                                                                                                            "node DIR/src/server.py",
		`{"type":"python","entry_point":"src/server.py","mcp_config":{"command":"python","args":["src/server.py"],"env":{"PYTHONPATH":"${__dirname}/lib"},"platform_overrides":{"` + platform(runtime.GOOS) + `":{"command":"python3","args":["-u","src/server.py"]}}}}`: "PYTHONPATH=DIR/lib python3 -u src/server.py",
		`{"type":"binary","entry_point":"src/server.py","mcp_config":{"command":"src/server.py"}}`:                                                                                                                                                                       "DIR/src/server.py",
		`{"type":"binary","entry_point":"src/server.py","mcp_config":{"command":"./src/server.py"}}`:                                                                                                                                                                     "DIR/src/server.py",
	} {
		b, err := OpenBundle(pack(t, entry{name: "manifest.json", body: head + server + "}"}, entry{name: "src/server.py", body: "x"}), "")
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Describe("", "/b").Options[0].Entry("h", nil)
		if got := strings.ReplaceAll(filepath.ToSlash(e.Written()), filepath.ToSlash(b.Folder("/b")), "DIR"); err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", server, err, got, want)
		}
	}
}

// A signature after the end of the zip file, as the mcpb program appends it, does
// not matter.
func TestSignedBundlesAreRead(t *testing.T) {
	data := append(pack(t, good()...), "MCPB_SIG_V1\x04\x00\x00\x00abcdMCPB_SIG_END"...)
	if _, err := OpenBundle(data, ""); err != nil {
		t.Error(err)
	}
}

func FuzzOpenBundle(f *testing.F) {
	f.Add(pack(f, good()...))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := OpenBundle(data, "")
		if err != nil {
			return
		}
		dir := t.TempDir()
		inner := filepath.Join(dir, "inner", "bundles")
		o := b.Describe("x", inner).Options[0]
		_, _ = o.Entry("x", nil) // must not panic
		_ = b.Unpack(inner)      // may fail
		if all, err := os.ReadDir(dir); err != nil || len(all) > 1 {
			t.Errorf("something is outside the folder: %v %v", all, err)
		}
	})
}
