package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/ext/servercard"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/zalando/go-keyring"
)

// inputSecret is the value of a secret input. It is random because the test binary
// itself is in a bundle.
var inputSecret = "K/" + rand.Text()[:12]

// weatherJSON describes a server that npx runs.
const weatherJSON = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.example/weather","title":"Weather","description":"Forecasts","version":"1.0.2",
	"repository":{"url":"https://git.example.com/weather","source":"git"},
	"packages":[{"registryType":"npm","identifier":"@x/weather","version":"1.0.2","transport":{"type":"stdio"},
		"packageArguments":[{"type":"named","name":"--units","description":"Units","isRequired":true,"choices":["metric","imperial"]},{"type":"named","name":"--days","description":"Days","format":"number","default":"3"}],
		"environmentVariables":[{"name":"API_KEY","description":"Your key","isRequired":true,"isSecret":true},{"name":"PROXY","description":"A proxy"}]}],
	"remotes":[{"type":"sse","url":"https://weather.example.com/sse"}]}`

// A desk is a folder of a user with a configuration, and with a program npx that
// writes its arguments and environment to files and serves calc.
type desk struct {
	t             *testing.T
	home, config  string
	args, environ string
}

func newDesk(t *testing.T) *desk {
	home := t.TempDir()
	d := &desk{t: t, home: home, config: filepath.Join(home, "config"), args: filepath.Join(home, "args"), environ: filepath.Join(home, "env")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	script(t, bin, "npx", `printf '%s\n' "$@" > `+d.args+`; env > `+d.environ+`; exec `+self+" serve calc\n")
	return d
}

// command returns the program in the folder, without a keyring.
func (d *desk) command(args ...string) *exec.Cmd {
	cmd := binary(d.t, args...)
	cmd.Dir = d.home
	set(cmd, "HOME", d.home)
	set(cmd, "TENON_CONFIG_DIR", d.config)
	set(cmd, "DBUS_SESSION_BUS_ADDRESS", "")
	set(cmd, "PATH", filepath.Join(d.home, "bin")+":"+os.Getenv("PATH"))
	return cmd
}

// tenon runs a command that must end with an exit code, and returns everything it
// wrote.
func (d *desk) tenon(code int, args ...string) string {
	d.t.Helper()
	return d.run(code, d.command(args...))
}

func (d *desk) run(code int, cmd *exec.Cmd) string {
	d.t.Helper()
	got, out, errs := output(d.t, cmd)
	if got != code {
		d.t.Fatalf("%q: exit code %d, want %d\n%s%s", cmd.Args[1:], got, code, out, errs)
	}
	return out + errs
}

// file writes a file in the folder and returns its path.
func (d *desk) file(name, text string) string {
	path := filepath.Join(d.home, name)
	write(d.t, path, text)
	return path
}

func (d *desk) read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return string(text)
}

// A server.json is added without a terminal: nothing is started by adding, the
// inputs that are missing are named, and the secret is in no file.
func TestAddServerJSON(t *testing.T) {
	d := newDesk(t)
	file := d.file("server.json", weatherJSON)
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--yes"), "these inputs need a value", "units", "one of metric, imperial", "API_KEY  Your key; secret; for environment variable API_KEY", "TENON_INPUT_API_KEY")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--input", "units=metric", "--input", "API_KEY="+inputSecret), "cannot ask for confirmation", "npx -y @x/weather@1.0.2 --units=metric --days=3")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--input", "units=kelvin"), "must be one of metric, imperial")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--input", "days=many"), "must be a number")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--input", "unit=metric"), "did you mean units?")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--input", "units=metric", "--input", "API_KEY=a\nb"), "must not contain line breaks")
	if _, err := os.Stat(d.config + "/tenon.json"); err == nil {
		t.Fatal("something was added")
	}
	out := d.tenon(0, "config", "add", "weather", file, "--dry-run")
	contains(t, out, "io.example/weather 1.0.2  Forecasts", "Repository: https://git.example.com/weather", "* --package 1  npm @x/weather@1.0.2", "--remote 1  sse https://weather.example.com/sse",
		"'API_KEY=<API_KEY>' npx -y @x/weather@1.0.2 '--units=<units>' --days=3", "Not set, optional: PROXY")

	cmd := d.command("config", "add", "weather", file, "--yes", "--input", "--units=metric", "--input", "days=5", "-e", "MORE=x")
	set(cmd, "TENON_INPUT_API_KEY", inputSecret)
	out = d.run(0, cmd)
	contains(t, out, "The secret API_KEY was not stored: no keyring is available here.", "set TENON_INPUT_WEATHER_API_KEY", "Added weather to")
	if strings.Contains(out, inputSecret) || d.read(d.args) != "" {
		t.Errorf("the secret is shown, or the server was started:\n%s", out)
	}
	noFileHolds(t, d.config, inputSecret, "tenon.json")
	contains(t, d.tenon(exitUsage, "config", "add", "weather", file, "--yes"), "a server with this name exists")
	contains(t, d.tenon(exitUsage, "call", "weather", "add", "a=20", "b=22"), "TENON_INPUT_WEATHER_API_KEY")

	cmd = d.command("call", "weather", "add", "a=20", "b=22")
	set(cmd, "TENON_INPUT_WEATHER_API_KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
	if got := d.read(d.args); got != "-y\n@x/weather@1.0.2\n--units=metric\n--days=5\n" {
		t.Errorf("npx got %q", got)
	}
	contains(t, d.read(d.environ), "API_KEY="+inputSecret+"\n", "MORE=x\n")
	noFileHolds(t, d.config, inputSecret, "tenon.json")
}

// Values are literal, except a variable alone, which is expanded at each start.
func TestInputsMayReferToVariables(t *testing.T) {
	d := newDesk(t)
	file := d.file("server.json", weatherJSON)
	d.tenon(0, "config", "add", "weather", file, "--yes", "--input", "units=metric", "--input", "API_KEY=${MY_KEY}", "--input", "PROXY=a ${HOME}")
	cmd := d.command("call", "weather", "add", "a=20", "b=22")
	set(cmd, "MY_KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
	contains(t, d.read(d.environ), "API_KEY="+inputSecret+"\n", "PROXY=a ${HOME}\n")
}

// With a keyring the secret is there and nowhere else, until the server is
// removed.
func TestSecretInputsAreInTheKeyring(t *testing.T) {
	d := newDesk(t)
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	t.Setenv("PATH", filepath.Join(d.home, "bin")+":"+os.Getenv("PATH"))
	here := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := run(t.Context(), append([]string{"--config-dir", d.config, "--project", d.home}, args...), strings.NewReader(""), &out, &out); code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, code, out.String())
		}
		return out.String()
	}
	if err := keyring.Set(serverService, "weather.API_KEY", "of another configuration"); err != nil {
		t.Fatal(err)
	}
	out := here("config", "add", "weather", d.file("server.json", weatherJSON), "--yes", "--input", "units=metric", "--input", "API_KEY="+inputSecret)
	contains(t, out, "'API_KEY=${keyring:weather.API_KEY-2}' npx -y")
	if got, err := keyring.Get(serverService, "weather.API_KEY-2"); got != inputSecret || strings.Contains(out, inputSecret) {
		t.Errorf("the keyring has %q, %v", got, err)
	}
	contains(t, here("config", "list"), "npx -y @x/weather@1.0.2")
	contains(t, here("call", "weather", "add", "a=20", "b=22"), "42")
	contains(t, d.read(d.environ), "API_KEY="+inputSecret+"\n")
	noFileHolds(t, d.config, inputSecret, "tenon.json")
	here("config", "remove", "weather")
	if _, err := keyring.Get(serverService, "weather.API_KEY-2"); err == nil {
		t.Error("the secret is still there")
	}
	if _, err := keyring.Get(serverService, "weather.API_KEY"); err != nil {
		t.Error("another secret is gone")
	}
	write(t, filepath.Join(d.home, ".mcp.json"), `{"mcpServers":{"thief":{"command":"npx","env":{"K":"${keyring:weather.API_KEY}"}}}}`)
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"--config-dir", d.config, "--project", d.home, "--yes", "tools", "thief"}, strings.NewReader(""), &errs, &errs); code == 0 || !strings.Contains(errs.String(), "only your own file may use") {
		t.Errorf("a project's file uses the keyring: %d %s", code, errs.String())
	}
}

// At a terminal the user is asked for the required inputs and for a yes.
func TestAddAsksAtATerminal(t *testing.T) {
	_, address := startKeyring(t)
	d := newDesk(t)
	file := d.file("server.json", weatherJSON)
	for _, answer := range []string{"no", "yes"} {
		s := ptytest.New(t)
		cmd := d.command("config", "add", "weather", file)
		set(cmd, "NO_COLOR", "1")
		set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
		atTerminal(t, cmd, s.TTY)
		s.Sees("weather needs API_KEY: Your key; secret; for environment variable API_KEY")
		s.Sees("> ")
		s.Press("\r")
		s.Sees("a value is required")
		s.Sees("> ")
		s.Press(inputSecret + "\r")
		s.Sees("weather needs units: Units; one of metric, imperial; for argument --units")
		s.Sees(" 1  metric")
		s.Sees("> ")
		s.Press("kelvin\r")
		s.Sees("the value must be one of metric, imperial")
		s.Sees("> ")
		s.Press("2\r")
		s.Sees("npx -y @x/weather@1.0.2 --units=imperial --days=3")
		s.Sees("Add it? Its program runs with your user account's rights. (yes/no) ")
		s.Press(answer + "\r")
		cmd.Wait()
		if strings.Contains(s.Text(), inputSecret) {
			t.Errorf("the secret is on the screen:\n%s", s.Text())
		}
		if added := strings.Contains(d.read(d.config+"/tenon.json"), "@x/weather@1.0.2"); added != (answer == "yes") {
			t.Errorf("after %s: added is %v\n%s", answer, added, s.Text())
		}
	}
	noFileHolds(t, d.config, inputSecret, "tenon.json")
	if d.read(d.args) != "" {
		t.Error("the server was started")
	}
}

// Without a keyring the user is not asked for a secret that would be lost. Ctrl-D
// at the question adds nothing, and remove leaves no input.
func TestAddDoesNotAskForASecretItCannotStore(t *testing.T) {
	d := newDesk(t)
	file := d.file("server.json", weatherJSON)
	for _, code := range []int{exitUsage, 0} {
		s := ptytest.New(t)
		cmd := d.command("config", "add", "weather", file)
		set(cmd, "NO_COLOR", "1")
		atTerminal(t, cmd, s.TTY)
		s.Sees("weather needs API_KEY: Your key; secret; for environment variable API_KEY\r\nIt cannot be stored: no keyring is available here. You are asked for it when the server is started.")
		s.Sees("weather needs units")
		s.Sees("> ")
		s.Press("2\r")
		s.Sees("'API_KEY=${input:weather.API_KEY}' npx -y @x/weather@1.0.2 --units=imperial")
		s.Sees("(yes/no) ")
		if code == 0 {
			s.Press("yes\r")
			s.Sees("set TENON_INPUT_WEATHER_API_KEY")
		} else {
			s.Press("\x04")
			s.Sees("tenon: nothing was added")
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit code %d, want %d\n%s", got, code, s.Text())
		}
	}
	contains(t, d.read(d.config+"/tenon.json"), `"id": "weather.API_KEY"`)
	d.tenon(0, "config", "remove", "weather")
	if text := d.read(d.config + "/tenon.json"); strings.Contains(text, "inputs") {
		t.Errorf("the input is still there:\n%s", text)
	}
}

// Ctrl-C at a secret, which is a key and not a signal there, is an interrupt.
func TestInterruptAtASecretInput(t *testing.T) {
	_, address := startKeyring(t)
	d := newDesk(t)
	s := ptytest.New(t)
	cmd := d.command("config", "add", "weather", d.file("server.json", weatherJSON))
	set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
	atTerminal(t, cmd, s.TTY)
	s.Sees("> ")
	s.Press("\x03")
	s.Sees("tenon: interrupted")
	ends(t, cmd)
}

// An input with several values takes one on each line; an empty line takes the
// default, or ends the list.
func TestAddAsksForSeveralValues(t *testing.T) {
	d := newDesk(t)
	file := d.file("server.json", `{"name":"io.example/files","version":"1.0.0","description":"Files","packages":[{"registryType":"npm","identifier":"files","version":"1.0.0","transport":{"type":"stdio"},
		"packageArguments":[{"type":"named","name":"--depth","description":"Depth","format":"number","isRequired":true,"default":"2"},{"type":"positional","valueHint":"folder","format":"filepath","isRequired":true,"isRepeated":true}]}]}`)
	s := ptytest.New(t)
	cmd := d.command("config", "add", "files", file)
	set(cmd, "NO_COLOR", "1")
	atTerminal(t, cmd, s.TTY)
	s.Sees("files needs depth: Depth; number; for argument --depth\r\n  (default: 2)\r\n> ")
	s.Press("\r")
	s.Sees("files needs folder: filepath; for argument 2")
	s.Sees("several values")
	for _, line := range []string{"/a b", "sub", ""} {
		s.Sees("> ")
		s.Press(line + "\r")
	}
	s.Sees("npx -y files@1.0.0 --depth=2 '/a b' " + d.home + "/sub")
	s.Sees("(yes/no) ")
	s.Press("yes\r")
	cmd.Wait()
	contains(t, d.read(d.config+"/tenon.json"), `"--depth=2", "/a b", "`+d.home+`/sub"`)
}

// In a project's file secrets are inputs, and the server needs an approval like
// every other of a project.
func TestAddToAProject(t *testing.T) {
	d := newDesk(t)
	d.tenon(0, "config", "add", "weather", d.file("server.json", weatherJSON), "--to-project", "--yes", "--input", "units=metric", "--input", "API_KEY="+inputSecret)
	contains(t, d.read(d.home+"/.mcp.json"), "${input:weather.API_KEY}", `"password": true`)
	cmd := d.command("call", "weather", "add", "a=20", "b=22")
	set(cmd, "TENON_INPUT_WEATHER_API_KEY", inputSecret)
	contains(t, d.run(exitUsage, cmd), "is not approved")
	if d.read(d.args) != "" {
		t.Error("it was started without an approval")
	}
	cmd = d.command("call", "weather", "add", "a=20", "b=22", "--yes")
	set(cmd, "TENON_INPUT_WEATHER_API_KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
	noFileHolds(t, d.config, inputSecret)
	if strings.Contains(d.read(d.home+"/.mcp.json"), inputSecret) {
		t.Error("the project's file has the secret")
	}
}

// bundle returns a bundle with a program as its server.
func bundle(t *testing.T, program []byte) (data []byte, digest string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, body := range map[string][]byte{
		"manifest.json": []byte(`{"manifest_version":"0.3","name":"adder","version":"1.0.0","description":"Adds","author":{"name":"Ada"},"server":{"type":"binary","entry_point":"server/adder","mcp_config":{"command":"server/adder","args":["serve","calc"],"env":{"KEY":"${user_config.key}"}}},
			"user_config":{"key":{"type":"string","title":"Key","description":"Your key","required":true,"sensitive":true}}}`),
		"server/adder": program,
	} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:])
}

// A bundle is unpacked after a yes, its server runs, and it is gone after it was
// removed.
func TestAddBundle(t *testing.T) {
	d := newDesk(t)
	data, digest := bundle(t, []byte(d.read(filepath.Join(d.home, "bin", "npx"))))
	file := d.file("adder.mcpb", string(data))
	contains(t, d.tenon(exitUsage, "config", "add", "adder", file, "--input", "key="+inputSecret, "--yes", "--sha256", strings.Repeat("0", 64)), "SHA-256 digest is "+digest)
	contains(t, d.tenon(exitUsage, "config", "add", "adder", file, "--input", "key="+inputSecret, "--yes", "--to-project"), "cannot be added to a project")
	contains(t, d.tenon(0, "config", "add", "adder", file, "--dry-run"), "Publisher:  Ada", "adder serve calc", digest)
	folder := filepath.Join(d.config, "bundles", digest)
	if _, err := os.Stat(folder); err == nil {
		t.Fatal("it was unpacked before a yes")
	}
	out := d.tenon(0, "config", "add", "adder", file, "--input", "key="+inputSecret, "--yes", "--sha256", digest)
	contains(t, out, folder+"/server/adder serve calc", "It runs in "+folder)
	noFileHolds(t, filepath.Join(d.config), inputSecret, "tenon.json", "manifest.json")
	cmd := d.command("call", "adder", "add", "a=20", "b=22")
	set(cmd, "TENON_INPUT_ADDER_KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
	cmd = d.command("config", "add", "again", file, "--yes")
	set(cmd, "TENON_INPUT_KEY", inputSecret)
	d.run(0, cmd)
	d.tenon(0, "config", "remove", "adder")
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the bundle of another server is gone: %v", err)
	}
	d.tenon(0, "config", "remove", "again")
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the bundle is still there: %v", err)
	}
}

// A bundle with a compiled program, this one, runs too.
func TestAddBundleWithABinary(t *testing.T) {
	d := newDesk(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := bundle(t, []byte(d.read(self)))
	d.tenon(0, "config", "add", "adder", d.file("adder.mcpb", string(data)), "--input", "key=${KEY}", "--yes")
	cmd := d.command("call", "adder", "add", "a=20", "b=22")
	set(cmd, "KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
}

// A hostile bundle writes nothing anywhere.
func TestHostileBundleIsNotAdded(t *testing.T) {
	d := newDesk(t)
	for name, mode := range map[string]fs.FileMode{"../../evil": 0o644, "/tmp/tenon-evil": 0o644, "link": fs.ModeSymlink | 0o777} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: name}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, "/etc")
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		contains(t, d.tenon(exitUsage, "config", "add", "evil", d.file("evil.mcpb", b.String()), "--yes"), "read the bundle: the file")
	}
	if all, err := os.ReadDir(d.config); err == nil && len(all) > 0 {
		t.Errorf("something was written: %v", all)
	}
}

// registryFake is a registry with the API of the real one.
func registryFake(t *testing.T, servers map[string]string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
	one := func(server, status string) string {
		return fmt.Sprintf(`{"server":%s,"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"statusMessage":"old\u001b[31m","statusChangedAt":"2026-01-01T00:00:00Z","publishedAt":"2026-01-01T00:00:00Z","isLatest":true}}}`, server, status)
	}
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/{version}", func(w http.ResponseWriter, r *http.Request) {
		server, ok := servers[r.PathValue("name")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			reply(w, `{"error":"Server not found"}`)
			return
		}
		status := "active"
		if r.PathValue("version") != "latest" {
			status = "deprecated"
		}
		reply(w, one(server, status))
	})
	mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) {
		var list []string
		for name, server := range servers {
			if strings.Contains(name, r.FormValue("search")) {
				list = append(list, one(server, "active"))
			}
		}
		reply(w, fmt.Sprintf(`{"servers":[%s],"metadata":{"count":%d}}`, strings.Join(list, ","), len(list)))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// A server of a registry is found and added, as is a bundle that it refers to.
func TestAddFromARegistry(t *testing.T) {
	d := newDesk(t)
	data, digest := bundle(t, []byte(d.read(filepath.Join(d.home, "bin", "npx"))))
	var served atomic.Pointer[[]byte]
	served.Store(&data)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(*served.Load()) }))
	defer web.Close()
	bundled := `{"name":"io.example/adder","description":"\u001b]0;title\u0007Adds \u202e","version":"1.0.0","packages":[{"registryType":"mcpb","identifier":"` + web.URL + `/adder.mcpb","fileSha256":"` + digest + `","transport":{"type":"stdio"}}]}`
	registry := registryFake(t, map[string]string{"io.example/weather": weatherJSON, "io.example/adder": bundled}).URL
	out := d.tenon(0, "config", "search", "io.example", "--registry", registry)
	contains(t, out, "io.example/weather  1.0.2\n  Forecasts\n  npm @x/weather@1.0.2\n  sse https://weather.example.com/sse\n", "io.example/adder  1.0.0")
	if strings.ContainsAny(out, "\x1b\x07\u202e") {
		t.Errorf("escape sequences reach the terminal: %q", out)
	}
	contains(t, d.tenon(0, "config", "search", "weather", "--registry", registry, "--format", "json"), `"name": "io.example/weather"`)
	contains(t, d.tenon(exitUsage, "config", "search", "weather"), "missing --registry")
	contains(t, d.tenon(exitUsage, "config", "add", "w", "io.example/none", "--registry", registry), "has no server io.example/none")
	contains(t, d.tenon(exitUsage, "config", "add", "w", "../../x", "--registry", registry), "form namespace/name")
	contains(t, d.tenon(exitUsage, "config", "add", "w", "io.example/weather"), `"io.example/weather" looks like the name of a server in a registry; add --registry URL`)
	contains(t, d.tenon(exitUsage, "config", "add", "w", "io.example/weather@1.0.2", "--input", "a=b"), "add --registry URL")
	contains(t, d.tenon(exitUsage, "config", "add", "w", "bin/weather"), "is not the name of a server")
	contains(t, d.tenon(exitConnection, "config", "add", "w", "io.example/weather", "--registry", "http://127.0.0.1:1"), "fetch http://127.0.0.1:1/v0.1/servers")

	out = d.tenon(0, "config", "add", "weather", "io.example/weather@1.0.2", "--registry", registry, "--yes", "--input", "units=metric", "--input", "API_KEY=${KEY}")
	contains(t, out, "warning: io.example/weather 1.0.2 is deprecated: old\\u{1b}[31m")
	cmd := d.command("call", "weather", "add", "a=20", "b=22")
	set(cmd, "KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")

	out = d.tenon(0, "config", "add", "adder", "io.example/adder", "--registry", registry, "--yes", "--input", "key=${KEY}")
	if strings.ContainsAny(out, "\x1b\x07\u202e") {
		t.Errorf("escape sequences reach the terminal: %q", out)
	}
	cmd = d.command("call", "adder", "add", "a=20", "b=22")
	set(cmd, "KEY", inputSecret)
	contains(t, d.run(0, cmd), "42")
	changed := append(slices.Clone(data), "changed"...)
	served.Store(&changed)
	contains(t, d.tenon(exitUsage, "config", "add", "changed", "io.example/adder", "--registry", registry, "--yes", "--input", "key=x"), "must be "+digest)
}

// A server card that tenon serve publishes is found, and the server is added with
// the token that the card asks for.
func TestCardIsPublishedAndAdded(t *testing.T) {
	t.Setenv("SERVE_TOKEN", "canary-0123456789abcdef")
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--card", "com.example/calc", "--auth-token", "SERVE_TOKEN")
	d := newDesk(t)
	res, err := http.Get(url + servercard.CardSuffix)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := servercard.Parse(body); err != nil || c.Name != "com.example/calc" || c.Version != "1.0.0" || c.Remotes[0].URL != url || res.Header.Get("ETag") == "" {
		t.Fatalf("%v: %s", err, body)
	}
	if bytes.Contains(body, []byte("canary")) {
		t.Errorf("the card has the token: %s", body)
	}
	site := strings.TrimSuffix(url, "/mcp")
	for i, source := range []string{url, url + servercard.CardSuffix, site, site + servercard.CatalogPath} {
		name := fmt.Sprint("calc", i)
		out := d.tenon(0, "config", "add", name, source, "--card", "--yes", "--input", "token=${TOKEN}")
		contains(t, out, "com.example/calc 1.0.0", url+" 'Authorization: Bearer ${TOKEN}'")
		cmd := d.command("call", name, "add", "a=20", "b=22")
		set(cmd, "TOKEN", "canary-0123456789abcdef")
		contains(t, d.run(0, cmd), "42")
	}
	for line, want := range map[string]string{
		"calc --card com.example/calc":                                                 "--card need --http",
		"calc --http 127.0.0.1:0 --public-url https://x.example":                       "--public-url needs --card",
		"calc --http 127.0.0.1:0 --card calc":                                          "form namespace/name",
		"calc --http 127.0.0.1:0 --card a/b --public-url file:///x":                    "--public-url must be",
		"calc --http 127.0.0.1:0 --card a/b --public-url https://u:p@x.example/mcp":    "--public-url must be",
		"calc --http 127.0.0.1:0 --card a/b --public-url https://x.example/mcp?key=xy": "--public-url must be",
	} {
		code, _, errs := tenon(t, append([]string{"serve"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("serve %s: exit code %d: %s", line, code, errs)
		}
	}
}

// The title of the sql server has the place of the database, which is nobody's
// business.
func TestCardShowsNoPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hidden-place.db")
	url := servingAt(t, "sql", "dsn="+file, "writes=1", "--http", "127.0.0.1:0", "--card", "com.example/sql", "--public-url", "https://sql.example.com/mcp")
	for _, path := range []string{servercard.CardSuffix, "/../" + servercard.CatalogPath} {
		res, err := http.Get(strings.Replace(url+path, "/mcp/../", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || bytes.Contains(body, []byte("hidden-place")) || !bytes.Contains(body, []byte("https://sql.example.com/mcp")) {
			t.Errorf("%s: %v %s", path, err, body)
		}
	}
}

// Flags of discovery without a file that describes a server are errors, not
// ignored.
func TestDiscoveryFlagsNeedADescription(t *testing.T) {
	d := newDesk(t)
	for _, flag := range []string{"--package=1", "--remote=1", "--input=a=b", "--sha256=x", "--dry-run"} {
		contains(t, d.tenon(exitUsage, "config", "add", "x", "https://x.example/mcp", flag), "is for a server.json")
	}
	contains(t, d.tenon(exitUsage, "config", "add", "x", "missing.json"), "missing.json")
	contains(t, d.tenon(exitUsage, "config", "add", "-x", d.file("server.json", weatherJSON)), "unknown")
	contains(t, d.tenon(exitUsage, "config", "add", "a\x1bb", d.file("server.json", weatherJSON)), "misleading characters")
}
