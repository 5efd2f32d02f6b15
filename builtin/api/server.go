package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// An engine is a server for the current version of a file.
type engine struct {
	config     Config
	server     *server.Server
	current    atomic.Pointer[service]
	secrets    *redact.Values
	static     []string // secrets of the current version of the file
	links      links
	linkPrefix string
	effects    effects

	subscriptions subscriptions
	randomKey     []byte

	// Only New and then the goroutine that watches the file use these.
	tasks   *tasks.Manager
	shown   map[string]string // definitions of the features that the server has
	removes map[string]func()
}

// Check returns all mistakes of a file, as a *spec.Problems with a line for each.
// Secrets need not be set.
func Check(c Config) error {
	_, err := Describe(c)
	return err
}

// Describe checks a file as [Check] does, and returns what it offers.
func Describe(c Config) (string, error) {
	c = c.withDefaults()
	data, err := c.Read()
	if err != nil {
		return "", err
	}
	c.Resolver.Missing = func(string) string { return "unset" }
	v, err := load(c, data)
	if err != nil {
		return "", err
	}
	size := 0
	for _, name := range v.order {
		raw, err := mcp.Marshal(v.tools[name].spec)
		if err != nil {
			return "", err
		}
		size += len(raw) + 1
	}
	f := v.file
	return fmt.Sprintf("%s (%s in tools/list), %s, %s, %s", count(len(v.order), "tool"), count(size, "byte"), count(len(f.Resources), "resource"), count(len(f.Prompts), "prompt"), count(len(f.Tests), "test")), nil
}

// count returns a number of things, such as 2 tools.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Read returns the content of the file: Data, or that of File, which must be a regular
// file of at most [spec.MaxFile] bytes.
func (c *Config) Read() ([]byte, error) {
	if c.Data != nil {
		return c.Data, nil
	}
	data, err := readFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", c.File)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", c.File, plainCause(err))
	}
	return data, nil
}

// readFile reads a regular file of at most [spec.MaxFile] bytes. Opening a pipe could
// wait forever, and reading a device never end.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, spec.MaxFile+1))
	if err == nil && len(data) > spec.MaxFile {
		err = fmt.Errorf("it is larger than %d MiB", spec.MaxFile>>20)
	}
	return data, err
}

// New returns the server. It loads the file, checks it completely and resolves
// its secrets, but sends nothing. Close the server to stop watching the file.
func New(c Config) (*server.Server, error) {
	c = c.withDefaults()
	data, err := c.Read()
	if err != nil {
		return nil, err
	}
	return start(c, data)
}

// start returns the server for the content of the file.
func start(c Config, data []byte) (*server.Server, error) {
	e := &engine{config: c, secrets: redact.New(), shown: map[string]string{}, removes: map[string]func(){}, randomKey: []byte(rand.Text())}
	v, err := e.load(data)
	if err != nil {
		return nil, err
	}
	f := v.file
	info := mcp.Implementation{Name: f.Name, Title: f.Title, Version: f.Version}
	if info.Version == "" {
		info.Version = "1.0.0"
	}
	e.server = server.New(info, &server.Options{Instructions: f.Instructions, Log: c.Log, Middleware: []mcp.Middleware{e.subscribing}, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{ListChanged: true}}})
	e.linkPrefix = f.Name + "-result://"
	if err := e.addLinks(); err != nil {
		return nil, err
	}
	if err := e.show(v); err != nil {
		return nil, err
	}
	e.server.OnClose(func() error { e.current.Load().client.Close(); return nil })
	e.server.OnClose(e.subscriptions.end)
	if c.Data == nil {
		if err := e.watch(data); err != nil {
			c.Log.Warn("changes of the file are not noticed", "file", c.File, "error", err)
		}
	}
	return e.server, nil
}

// load compiles a file and resolves its secrets.
func (e *engine) load(data []byte) (*service, error) {
	c := e.config
	if c.Resolver.Dir == "" && c.File != "" {
		c.Resolver.Dir = filepath.Dir(c.File)
	}
	told := c.Resolver.Found
	var found []string // is complete when this function returns
	c.Resolver.Found = func(secret string) {
		found = append(found, secret)
		if told != nil {
			told(secret)
		}
	}
	v, err := load(c, data)
	if err != nil {
		return nil, err
	}
	auth := v.file.Auth
	if p, ok := v.file.Profiles[c.Profile]; ok && p.Auth != nil {
		auth = p.Auth
	}
	if c.Auth != nil {
		auth = c.Auth
	}
	headers := len(found)
	v.client.Credential, err = credential.New(auth, credential.Options{
		Resolver: c.Resolver, Client: v.client.HTTP(), Base: v.base.String(), Service: v.title, Name: v.file.Name, Tokens: c.Tokens, CallerTokens: c.CallerTokens, Hide: e.hidden,
		Learned: func(account, secret string) {
			e.secrets.AddToken(c.Name+" "+account, secret)
			if told != nil {
				told(secret)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	v.hidden = e.hidden
	v.cursorKey = func() []byte { return e.randomKey }
	if own := found[headers:]; len(own) > 0 {
		secrets := digest(append(slices.Clone(own), v.file.Name)...)
		v.cursorKey = sync.OnceValue(func() []byte { return slowKey(secrets) })
	}
	e.keepSecrets(found)
	return v, nil
}

// keepSecrets hides the secrets of a version of the file. Calls may still use those
// of the version before it.
func (e *engine) keepSecrets(found []string) {
	for _, old := range e.static {
		e.secrets.Add(e.config.Name, old)
	}
	e.static = found
	e.secrets.Set(e.config.Name, found)
}

// show makes the server have the features of a version of the file.
func (e *engine) show(v *service) error {
	e.current.Store(v)
	has := map[string]bool{}
	var errs []error
	feature := func(kind, name string, definition any, add func() error, remove func()) {
		key := kind + " " + name
		has[key] = true
		raw, err := json.Marshal(definition)
		if err == nil && e.shown[key] == string(raw) {
			return
		}
		if err = add(); err != nil {
			errs = append(errs, err)
			return
		}
		e.shown[key], e.removes[key] = string(raw), remove
	}
	for _, name := range v.order {
		t := v.tools[name]
		feature("tool", name, []any{t.spec, t.task != nil}, func() error { return e.addTool(t) }, func() { e.server.RemoveTools(name) })
	}
	for _, r := range v.resources {
		uri := r.spec.URI
		feature("resource", uri, []any{r.spec, r.options().Cache}, func() error { return r.add(e) }, func() { e.server.RemoveResources(uri); e.server.RemoveTemplates(uri) })
	}
	for _, name := range v.file.Names("prompts") {
		p := v.prompts[name]
		feature("prompt", name, p.spec, func() error { return p.add(e, name) }, func() { e.server.RemovePrompts(name) })
	}
	for key, remove := range e.removes {
		if !has[key] {
			remove()
			delete(e.removes, key)
			delete(e.shown, key)
		}
	}
	return errors.Join(errs...)
}

// addTool adds a tool that runs the current version of the file.
func (e *engine) addTool(t *tool) error {
	name := t.name
	run := func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		v := e.current.Load()
		now := v.tools[name]
		if now == nil {
			return nil, mcp.InvalidParams("unknown tool %q", name)
		}
		res, err := e.call(ctx, c, v, now, args)
		if err != nil {
			return nil, e.toolError(ctx, err)
		}
		return res, nil
	}
	if t.task == nil {
		return e.server.AddRawTool(t.spec, run)
	}
	if e.tasks == nil {
		m, err := tasks.NewManager(e.server, &tasks.Options{Store: e.config.Store})
		if err != nil {
			return err
		}
		e.tasks = m
	}
	o := e.tasks.DeferredTool(tasks.Optional, &server.ToolOptions{Annotations: t.spec.Annotations})
	spec := t.spec
	spec.Execution = o.Execution
	return e.server.AddRawTool(spec, run, o.Middleware...)
}

// toolError returns an error of a tool without secrets.
func (e *engine) toolError(ctx context.Context, err error) error {
	if ctx.Err() != nil || passes(err) {
		return err
	}
	return errors.New(textclip.Clip(e.hidden(err.Error()), maxError))
}

// maxError is the maximum length of the text of an error, in bytes.
const maxError = 4000

// hidden returns a text without the secrets of the file and of logins.
func (e *engine) hidden(text string) string { return e.secrets.Known(text) }
