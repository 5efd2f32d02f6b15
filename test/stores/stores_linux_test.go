package stores

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/app/store/taskstore"
	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/builtin/notes"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A tested is a store. Its changes are numbered from 1 and independent of each
// other.
type tested struct {
	// open opens the store in a folder. change makes a change and returns nil if
	// it is acknowledged.
	open func(dir string) (change func(i int) error, closed func() error, err error)
	// read opens it anew and returns the changes that it has. It fails if it finds
	// something that no change has written.
	read func(dir string) (map[int]bool, error)
	// loose means that nothing is acknowledged: what is read must be whole, and
	// any part of it may be missing.
	loose bool
	// later means that a change is acknowledged before the disk has it, so that a
	// power failure may lose the last ones.
	later bool
}

// content is what change i writes, long enough to be cut in the middle.
func content(i int) string { return fmt.Sprintf("begin %d %s end %d", i, strings.Repeat("x", 5000), i) }

// found adds the change of a text to those that were read.
func found(all map[int]bool, i int, text string) error {
	if text != content(i) {
		return fmt.Errorf("change %d is there in part: %d bytes, %.40q", i, len(text), text)
	}
	all[i] = true
	return nil
}

func none() error { return nil }

var all = map[string]tested{
	"sessions": {
		later: true, // a commit of SQLite in WAL mode with synchronous=NORMAL
		open: func(dir string) (func(int) error, func() error, error) {
			db, err := store.Open(filepath.Join(dir, "sessions.db"))
			if err != nil {
				return nil, nil, err
			}
			return func(i int) error {
				u := &host.Update{New: true}
				u.ID, u.Title, u.Created, u.Changed = strconv.Itoa(i), content(i), time.Now(), time.Now()
				return db.Save(u)
			}, db.Close, nil
		},
		read: func(dir string) (map[int]bool, error) {
			db, err := store.Open(filepath.Join(dir, "sessions.db"))
			if err != nil {
				return nil, err
			}
			defer db.Close()
			list, err := db.List()
			got := map[int]bool{}
			for _, s := range list {
				i, _ := strconv.Atoi(s.ID)
				err = errors.Join(err, found(got, i, s.Title))
				if _, bad := db.Load(s.ID); bad != nil {
					err = errors.Join(err, bad)
				}
			}
			return got, err
		},
	},
	"tasks": {
		open: func(dir string) (func(int) error, func() error, error) {
			s, err := taskstore.Open(filepath.Join(dir, "tasks.db"), nil)
			if err != nil {
				return nil, nil, err
			}
			return func(i int) error {
				now := time.Now()
				return s.Create(context.Background(), &tasks.Record{Task: tasks.Task{ID: strconv.Itoa(i), Status: tasks.Working, StatusMessage: content(i), CreatedAt: now, LastUpdatedAt: now}, Tool: "t"}, 1000)
			}, s.Close, nil
		},
		read: func(dir string) (map[int]bool, error) {
			s, err := taskstore.Open(filepath.Join(dir, "tasks.db"), nil)
			if err != nil {
				return nil, err
			}
			defer s.Close()
			list, err := s.List(context.Background(), "", tasks.Cursor{}, 100)
			got := map[int]bool{}
			for _, r := range list {
				i, _ := strconv.Atoi(r.Task.ID)
				err = errors.Join(err, found(got, i, r.Task.StatusMessage))
			}
			return got, err
		},
	},
	"task list": {
		open: func(dir string) (func(int) error, func() error, error) {
			l := tasklist.List{File: filepath.Join(dir, "tasks.json")}
			return func(i int) error {
				return l.Put(tasklist.Record{Server: content(i), ID: strconv.Itoa(i), Tool: "t", Started: time.Now(), Checked: time.Now(), Status: "working"})
			}, none, nil
		},
		read: func(dir string) (map[int]bool, error) {
			list, err := tasklist.List{File: filepath.Join(dir, "tasks.json")}.All()
			got := map[int]bool{}
			for _, r := range list {
				i, _ := strconv.Atoi(r.ID)
				err = errors.Join(err, found(got, i, r.Server))
			}
			return got, err
		},
	},
	"tokens": {
		open: func(dir string) (func(int) error, func() error, error) {
			f := &tokens.Files{Dir: filepath.Join(dir, "tokens")}
			return func(i int) error { return f.Save(context.Background(), strconv.Itoa(i), tokens.Secret(content(i))) }, none, nil
		},
		read: func(dir string) (map[int]bool, error) {
			return secrets(&tokens.Files{Dir: filepath.Join(dir, "tokens")})
		},
	},
	"encrypted tokens": {
		open: func(dir string) (func(int) error, func() error, error) {
			s, err := openSealed(dir)
			if err != nil {
				return nil, nil, err
			}
			return func(i int) error { return s.Save(context.Background(), strconv.Itoa(i), tokens.Secret(content(i))) }, none, nil
		},
		read: func(dir string) (map[int]bool, error) {
			s, err := openSealed(dir)
			if err != nil {
				return nil, err
			}
			return secrets(s)
		},
	},
	"approvals": {
		open: func(dir string) (func(int) error, func() error, error) {
			b, err := permit.Open(filepath.Join(dir, "approvals.json"), config.Settings{})
			if err != nil {
				return nil, nil, err
			}
			return func(i int) error {
				return b.Answer("server", &mcp.Tool{Name: strconv.Itoa(i), Description: content(i)}, "", permit.Always)
			}, none, nil
		},
		read: func(dir string) (map[int]bool, error) {
			b, err := permit.Open(filepath.Join(dir, "approvals.json"), config.Settings{})
			if err != nil {
				return nil, err
			}
			got := map[int]bool{}
			for _, name := range b.Decided("server") {
				i, _ := strconv.Atoi(name)
				changes, first := b.Changes("server", &mcp.Tool{Name: name, Description: content(i)})
				if first || len(changes) > 0 {
					err = errors.Join(err, fmt.Errorf("tool %s is not the one that was approved", name))
				}
				got[i] = true
			}
			return got, err
		},
	},
	"audit": {
		open: func(dir string) (func(int) error, func() error, error) {
			l, err := audit.Open(filepath.Join(dir, "audit.log"), nil)
			if err != nil {
				return nil, nil, err
			}
			return func(i int) error { return l.Append(map[string]string{"change": strconv.Itoa(i), "text": content(i)}) }, l.Close, nil
		},
		read: func(dir string) (map[int]bool, error) {
			file := filepath.Join(dir, "audit.log")
			l, err := audit.Open(file, nil) // notes what it finds, as the next start of tenon does
			if err != nil {
				return nil, err
			}
			if err := errors.Join(l.Append(map[string]string{"what": "checked"}), l.Close()); err != nil {
				return nil, err
			}
			if _, err := audit.Verify(file, nil); err != nil {
				return nil, err
			}
			text, err := os.ReadFile(file)
			got := map[int]bool{}
			for line := range strings.Lines(string(text)) {
				for i := 1; i < 20; i++ {
					if strings.Contains(line, fmt.Sprintf("begin %d ", i)) {
						if !strings.Contains(line, content(i)) {
							err = errors.Join(err, fmt.Errorf("line of change %d is not whole", i))
						}
						got[i] = true
					}
				}
			}
			return got, err
		},
	},
	"configuration": {
		open: func(dir string) (func(int) error, func() error, error) {
			return func(i int) error {
				return config.Add(filepath.Join(dir, "tenon.json"), fmt.Sprintf("s%d", i), config.Entry{Kind: config.Stdio, Command: "x", Args: []string{content(i)}})
			}, none, nil
		},
		read: func(dir string) (map[int]bool, error) {
			c, err := config.Load(&config.Options{UserDir: dir, Dir: filepath.Join(dir, "none"), Home: filepath.Join(dir, "none")})
			if err != nil {
				return nil, err
			}
			got := map[int]bool{}
			for _, e := range c.Entries() {
				i, _ := strconv.Atoi(strings.TrimPrefix(e.Name, "s"))
				if e.Err != nil || len(e.Args) != 1 {
					return nil, fmt.Errorf("entry %s: %v", e.Name, e.Err)
				}
				err = errors.Join(err, found(got, i, e.Args[0]))
			}
			return got, err
		},
	},
	"recordings": {
		loose: true, // a recording is written beside what is recorded, and never waited for
		open: func(dir string) (func(int) error, func() error, error) {
			f, err := os.Create(filepath.Join(dir, "recording.txtar"))
			if err != nil {
				return nil, nil, err
			}
			r := recording.NewRecorder(f, "server", nil)
			return func(i int) error {
				frame, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": i, "method": "ping", "params": map[string]string{"text": content(i)}})
				r.Add(&speccheck.Message{Seq: uint64(i), At: time.Now(), Server: "server", Conn: 1, Dir: speccheck.ToServer, Kind: speccheck.KindRequest, Frame: frame, Size: len(frame), Method: "ping"})
				time.Sleep(2 * time.Millisecond) // so that each is written by itself
				return nil
			}, func() error { return errors.Join(r.Close(context.Background()), f.Close()) }, nil
		},
		read: func(dir string) (map[int]bool, error) {
			f, err := os.Open(filepath.Join(dir, "recording.txtar"))
			if err != nil {
				return nil, err
			}
			defer f.Close()
			got := map[int]bool{}
			if info, err := f.Stat(); err == nil && info.Size() == 0 {
				return got, nil // nothing was recorded
			}
			r, err := recording.Read(f)
			if err != nil {
				return nil, err
			}
			for _, m := range r.Messages {
				for i := 1; i < 20; i++ {
					if strings.Contains(string(m.Frame), fmt.Sprintf("begin %d ", i)) {
						got[i] = strings.Contains(string(m.Frame), content(i))
					}
				}
			}
			return got, nil
		},
	},
	"notes": {
		open: func(dir string) (func(int) error, func() error, error) {
			return tool(func() (*server.Server, error) { return notes.New(notes.Config{Vault: dir}) }, "create_note", func(i int) any {
				return map[string]any{"path": fmt.Sprintf("%d.md", i), "text": content(i)}
			})
		},
		read: func(dir string) (map[int]bool, error) { return texts(dir, ".md") },
	},
	"files": {
		open: func(dir string) (func(int) error, func() error, error) {
			return tool(func() (*server.Server, error) { return fs.New(fs.Config{Roots: []string{dir}}) }, "write_file", func(i int) any {
				return map[string]any{"path": fmt.Sprintf("%d.txt", i), "content": content(i)}
			})
		},
		read: func(dir string) (map[int]bool, error) { return texts(dir, ".txt") },
	},
}

func openSealed(dir string) (tokens.Store, error) {
	file := filepath.Join(dir, "key")
	keys, err := sealed.KeyFile(file)
	if errors.Is(err, os.ErrNotExist) {
		keys, err = sealed.MakeKeyFile(file)
	}
	if err != nil {
		return nil, err
	}
	return &sealed.Files{Dir: filepath.Join(dir, "sealed"), Keys: keys}, nil
}

// secrets reads the tokens of all changes.
func secrets(s tokens.Store) (map[int]bool, error) {
	got := map[int]bool{}
	for i := 1; i < 20; i++ {
		secret, err := s.Load(context.Background(), strconv.Itoa(i))
		if errors.Is(err, tokens.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := found(got, i, string(secret)); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// tool makes changes by calls of a tool.
func tool(open func() (*server.Server, error), name string, args func(int) any) (func(int) error, func() error, error) {
	s, err := open()
	if err != nil {
		return nil, nil, err
	}
	c := client.New(s, nil)
	return func(i int) error {
		_, err := client.Call[json.RawMessage](context.Background(), c, name, args(i), nil)
		return err
	}, func() error { return errors.Join(c.Close(), s.Close()) }, nil
}

// texts reads the files of a folder with an ending.
func texts(dir, end string) (map[int]bool, error) {
	got := map[int]bool{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), end)
		i, bad := strconv.Atoi(name)
		if !ok || bad != nil {
			continue // the temporary file of a process that was killed
		}
		text, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
		err = errors.Join(err, readErr, found(got, i, string(text)))
	}
	return got, err
}
