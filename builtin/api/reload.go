package api

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long the file must be unchanged before it is loaded again.
const settle = 100 * time.Millisecond

// watch loads the file again when its content is no longer data, until the server is
// closed. It watches the folder, because editors replace files, and Kubernetes
// replaces the folder that the file is a link into.
func (e *engine) watch(data []byte) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := w.Add(filepath.Dir(e.config.File)); err != nil {
		w.Close()
		return err
	}
	ended := make(chan struct{})
	go func() { // ends when the watcher is closed
		defer close(ended)
		e.reloads(w, data)
	}()
	e.server.OnClose(func() error {
		err := w.Close()
		<-ended
		return err
	})
	return nil
}

func (e *engine) reloads(w *fsnotify.Watcher, last []byte) {
	due := time.After(settle) // the file may have changed before it was watched
	var known os.FileInfo
	for {
		select {
		case event, ok := <-w.Events:
			if !ok {
				return
			}
			if filepath.Base(event.Name) == filepath.Base(e.config.File) {
				due, known = time.After(settle), nil
			} else if due == nil {
				due = time.After(settle)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			e.config.Log.Warn("watch the file of the API", "file", e.config.File, "error", err)
			due, known = time.After(settle), nil
		case <-due:
			due = nil
			info, err := os.Stat(e.config.File)
			if err != nil || known != nil && os.SameFile(info, known) && info.ModTime().Equal(known.ModTime()) && info.Size() == known.Size() {
				continue // another file of the folder has changed
			}
			known = info
			if data, err := e.config.Read(); err == nil && !bytes.Equal(data, last) {
				last = data
				e.reload(data)
			}
		}
	}
}

// reload replaces the current version of the file. If the new one has mistakes,
// the current one stays.
func (e *engine) reload(data []byte) {
	v, err := e.load(data)
	if err != nil {
		e.config.Log.Error("the changed file has mistakes; the previous version stays in use", "file", e.config.File, "error", e.hidden(err.Error()))
		return
	}
	old := e.current.Load()
	if err := e.show(v); err != nil {
		e.config.Log.Error("a feature of the changed file cannot be offered", "file", e.config.File, "error", e.hidden(err.Error()))
	}
	old.client.Close()
	e.config.Log.Info("the changed file is in use", "file", e.config.File, "tools", len(v.order))
}
