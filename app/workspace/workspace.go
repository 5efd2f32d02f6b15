// Package workspace assembles a host: the servers of a configuration, each with
// its connection, the model, the permissions, and the logs. User interfaces use a
// Workspace.
//
//	servers     app/connect   started in parallel
//	messages    app/wirelog   all messages of all servers
//	agent       app/host      model, asks, sessions
//	approvals   app/permit    which calls are allowed
//	sessions    app/store     SQLite
//	audit       app/audit     which calls were made
package workspace

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configure a [Workspace]. Only Dir is required.
type Options struct {
	// Dir holds sessions, the list of tasks, approvals, the audit log and logins.
	Dir string

	// Settings are the rules and choices of the configuration.
	Settings config.Settings

	// Servers are started at once. They must be approved.
	Servers []config.Server

	// Model answers. Nil: only direct calls are possible.
	Model llm.Model

	// Builtin creates builtin servers. Nil: there are none.
	Builtin func(name string, query url.Values) (connect.Builtin, error)
	// UsesRoots reports whether a builtin server uses the folder of the user as a
	// root. Nil: none does.
	UsesRoots func(name string) bool

	// Edits says how the calls of a builtin server change files. Nil: the host
	// recognizes them by their arguments.
	Edits func(name string, query url.Values) host.Edits

	// Event and State are called with the events of the host and the states of
	// servers. They must not block. They may be nil.
	Event func(host.Event)
	State func(connect.State)

	// Tokens stores logins. Nil stores them in Dir.
	Tokens tokens.Store

	// OpenPage shows the user a login page and must not open it before the user
	// agrees. Nil: only the state has the page.
	OpenPage func(server, page string) error

	// Unattended is set if no user can answer: questions are refused.
	Unattended bool

	// Revision is used with all servers instead of detecting it. It may be empty.
	Revision mcp.Revision

	// Secrets are values that are removed from everything that is stored or
	// shown, besides those of entries, logins and forms. It may be nil.
	Secrets *redact.Values

	// AuditKey signs the head of the audit log. Nil: it is not signed.
	AuditKey []byte

	// Log keeps the messages; its Secrets must be Secrets. Nil means a log with
	// the defaults.
	Log *wirelog.Log

	// Host has further options; Model, Book, Event, Store, Tasks, Audit, Secrets,
	// ToolSearch, Effort and Unattended are set here.
	Host host.Options
}

// A Workspace is a host with its servers and files.
type Workspace struct {
	Host  *host.Host
	Fleet *connect.Fleet
	Log   *wirelog.Log
	Book  *permit.Book

	opts  Options
	store *store.DB
	audit *audit.Log

	listening sync.WaitGroup // one goroutine for each server
	ctx       context.Context
	stop      context.CancelFunc

	closing sync.Once
	closed  error // the error of Close

	mu        sync.Mutex
	connected map[string]int           // by server: the number of the connection that the host knows
	now       map[string]chan struct{} // has an element if the server's phase has changed
}

// Open creates a workspace and starts its servers in the background, without
// waiting for them.
func Open(o Options) (*Workspace, error) {
	w := &Workspace{opts: o, Fleet: &connect.Fleet{}, Log: o.Log, connected: map[string]int{}, now: map[string]chan struct{}{}}
	if o.Tokens == nil {
		w.opts.Tokens = &tokens.Files{Dir: filepath.Join(o.Dir, "tokens")}
	}
	if o.Secrets == nil {
		w.opts.Secrets = redact.New()
	}
	if w.Log == nil {
		w.Log = wirelog.NewLog(&wirelog.LogOptions{Secrets: w.opts.Secrets})
	}
	var err error
	if w.Book, err = permit.Open(ToolsFile(o.Dir), o.Settings); err != nil {
		return nil, err
	}
	if w.store, err = store.Open(sessionsFile(o.Dir)); err != nil {
		return nil, err
	}
	if w.audit, err = audit.Open(auditFile(&o), &audit.Options{Key: o.AuditKey}); err != nil {
		return nil, errors.Join(err, w.store.Close())
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	h := o.Host
	h.Model, h.Book, h.Event, h.Store, h.Unattended = o.Model, w.Book, o.Event, w.store, o.Unattended
	h.ToolSearch, h.Effort, h.Secrets = o.Settings.ToolSearch, o.Settings.Effort, w.opts.Secrets
	h.Audit, h.AuditOptional = func(r host.AuditRecord) error { return w.audit.Append(r) }, o.Settings.Audit.Optional
	list := TaskList(o.Dir)
	h.Tasks = &list
	w.Host = host.New(&h)
	for _, s := range o.Servers {
		if err := w.Add(s); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if !h.OneShot && !h.Unattended {
		w.Host.ResumeTasks()
	}
	return w, nil
}

func auditFile(o *Options) string {
	if o.Settings.Audit.File != "" {
		return o.Settings.Audit.File
	}
	return AuditFile(o.Dir)
}

// AuditFile returns the default file of the audit log.
func AuditFile(dir string) string { return filepath.Join(dir, "audit.jsonl") }

func sessionsFile(dir string) string { return filepath.Join(dir, "sessions.db") }

// ToolsFile returns the file with the answers about tools.
func ToolsFile(dir string) string { return filepath.Join(dir, "tools.json") }

// TaskList returns the list of the tasks that the user left running.
func TaskList(dir string) tasklist.List { return tasklist.List{File: filepath.Join(dir, "tasks.json")} }

// Add starts a server and attaches it to the host.
func (w *Workspace) Add(entry config.Server) error {
	w.mu.Lock()
	if w.now[entry.Name] == nil {
		w.now[entry.Name] = make(chan struct{}, 1)
	}
	w.mu.Unlock()
	if roots := w.rootsOf(entry); roots != nil {
		w.Host.DeclareRoots(entry.Name, roots)
	}
	w.Host.SetEdits(entry.Name, w.editsOf(entry))
	w.Book.Identify(entry.Name, entry.Identity())
	w.Book.FromProject(entry.Name, entry.Source.Project)
	s, err := w.Fleet.Add(entry, &connect.Options{
		Client:   w.Host.ClientOptions(entry.Name),
		Builtin:  w.opts.Builtin,
		Known:    w.opts.Revision,
		Tokens:   w.opts.Tokens,
		OpenPage: w.opts.OpenPage,
		NoLogin:  w.opts.Unattended,
		Watch:    func(server string) connect.Watcher { return w.Log.Wire(server) },
		Changed:  w.changed,
		Warn:     w.Host.Notice,
		Secrets:  w.opts.Secrets,
	})
	if err != nil {
		return err
	}
	if err := w.Host.Attach(entry.Name, s.Client(), entry.Secrets); err != nil {
		return errors.Join(err, w.Fleet.Remove(entry.Name))
	}
	w.listening.Go(func() { w.onNotification(s) })
	return nil
}

// rootsOf returns the roots for a server: the user's folder for a program on this
// machine, and for a builtin server that uses it. A program that gets a path as an
// argument has been told which folder to use; some would use the roots instead.
func (w *Workspace) rootsOf(entry config.Server) []mcp.Root {
	folder := w.opts.Host.Folder
	uses := entry.Kind == config.Stdio && !slices.ContainsFunc(entry.Args, filepath.IsAbs) ||
		entry.Kind == config.Builtin && w.opts.UsesRoots != nil && w.opts.UsesRoots(entry.Builtin)
	if folder == "" || !uses {
		return nil
	}
	path := filepath.ToSlash(folder)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return []mcp.Root{{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: filepath.Base(folder)}}
}

// editsOf returns how a server changes files: a builtin one knows, and a program may
// do so in the folders that its arguments name, and in the one that it runs in.
func (w *Workspace) editsOf(entry config.Server) host.Edits {
	switch {
	case entry.Kind == config.Builtin && w.opts.Edits != nil:
		return w.opts.Edits(entry.Builtin, entry.Query)
	case entry.Kind == config.Stdio:
		var folders []string
		for _, a := range append([]string{entry.Dir}, entry.Args...) {
			if filepath.IsAbs(a) {
				folders = append(folders, filepath.Clean(a))
			}
		}
		return host.Edits{Folders: folders}
	}
	return host.Edits{}
}

// Secrets returns the values that are removed from what is stored or shown.
func (w *Workspace) Secrets() *redact.Values { return w.opts.Secrets }

// Reopen connects to a server again, with the current settings of its client.
func (w *Workspace) Reopen(name string) error {
	s := w.Fleet.Get(name)
	if s == nil {
		return errors.New("no server named " + name)
	}
	if err := w.Remove(name); err != nil {
		return err
	}
	return w.Add(s.Entry())
}

// Remove ends a server.
func (w *Workspace) Remove(name string) error {
	w.Host.Detach(name)
	return w.Fleet.Remove(name)
}

// changed handles a new state of a server. After a reconnection it may have other
// tools.
func (w *Workspace) changed(s connect.State) {
	w.mu.Lock()
	restarted := s.Phase == connect.Ready && s.Starts != w.connected[s.Server]
	if restarted {
		w.connected[s.Server] = s.Starts
	}
	select {
	case w.now[s.Server] <- struct{}{}:
	default:
	}
	w.mu.Unlock()
	if restarted {
		w.Host.Changed(s.Server)
	}
	if w.opts.State != nil {
		w.opts.State(s)
	}
}

// onNotification listens for changes of a server until it is closed. If the
// server refuses the subscription, it tries again after the next start of the
// server.
func (w *Workspace) onNotification(s *connect.Server) {
	filter := mcp.SubscriptionFilter{ToolsListChanged: true, ResourcesListChanged: true, PromptsListChanged: true}
	for refused := 0; w.phase(s, refused); {
		refused = s.State().Starts // if it does; a later start is tried
		s.Client().Listen(w.ctx, filter, func(n mcp.Notification) {
			switch n.Method {
			case mcp.NotificationSubscriptionsAcknowledged, // lists may have changed before the subscription
				mcp.NotificationToolsListChanged, mcp.NotificationResourcesListChanged, mcp.NotificationPromptsListChanged:
				w.Host.Changed(s.Name())
			}
		})
	}
}

// phase waits until a server is connected, later than the start in which it
// refused the subscription. It returns false if the server is closed.
func (w *Workspace) phase(s *connect.Server, refused int) bool {
	w.mu.Lock()
	changed := w.now[s.Name()]
	w.mu.Unlock()
	for {
		switch now := s.State(); {
		case w.ctx.Err() != nil || now.Phase == connect.Closed:
			return false
		case now.Usable() && now.Starts != refused:
			return true
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			return false
		}
	}
}

// Ready waits until the named servers are connected or have failed, and returns
// why.
func (w *Workspace) Ready(ctx context.Context, names ...string) error {
	var errs []error
	for _, n := range names {
		s := w.Fleet.Get(n)
		if s == nil {
			errs = append(errs, fmt.Errorf("there is no server named %s", n))
			continue
		}
		errs = append(errs, s.Wait(ctx))
	}
	return errors.Join(errs...)
}

// Close ends the servers and waits for it. It may be called more than once.
// Running turns should be stopped before.
func (w *Workspace) Close() error {
	w.closing.Do(func() {
		w.stop()
		w.Host.Close()
		w.listening.Wait() // first: a server waits for its subscriptions to end
		err := w.Fleet.Close()
		w.closed = errors.Join(err, w.store.Close(), w.audit.Close())
	})
	return w.closed
}
