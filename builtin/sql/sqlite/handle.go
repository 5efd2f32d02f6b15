package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A handle is one connection to a file, for one goroutine. It uses the C
// interface directly because database/sql does not give access to the
// features that keep it read-only: the authorizer, the limits, and the end
// of the first statement.
type handle struct {
	tls   *libc.TLS
	db    uintptr
	write bool
}

// open opens an existing file.
func open(path string, write bool, o engine.Options) (*handle, error) {
	h := &handle{tls: libc.NewTLS(), write: write}
	name, err := libc.CString(path)
	if err != nil {
		h.tls.Close()
		return nil, err
	}
	defer libc.Xfree(h.tls, name)
	// No SQLITE_OPEN_URI: a name must not contain options.
	flags := int32(lib.SQLITE_OPEN_READONLY | lib.SQLITE_OPEN_FULLMUTEX)
	if write {
		flags = lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_FULLMUTEX
	}
	rc := h.out(func(p uintptr) int32 { return lib.Xsqlite3_open_v2(h.tls, name, p, flags, 0) }, &h.db)
	if rc != lib.SQLITE_OK {
		err := h.failure(rc)
		h.close()
		return nil, err
	}
	lib.Xsqlite3_extended_result_codes(h.tls, h.db, 1)
	lib.Xsqlite3_busy_timeout(h.tls, h.db, int32(o.LockTimeout.Milliseconds()))
	h.restrict(write, o)
	return h, nil
}

func (h *handle) close() {
	if h.db != 0 {
		lib.Xsqlite3_close_v2(h.tls, h.db)
		h.db = 0
	}
	h.tls.Close()
}

// out calls a function that stores a pointer at its argument.
func (h *handle) out(f func(p uintptr) int32, to *uintptr) int32 {
	p := libc.Xcalloc(h.tls, 1, 8)
	if p == 0 {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(h.tls, p)
	rc := f(p)
	*to = pointerAt(p)
	return rc
}

// pointerAt reads a pointer from the memory of the library.
func pointerAt(p uintptr) uintptr {
	const size = int(unsafe.Sizeof(p))
	b := libc.GoBytes(p, size)
	if size == 4 {
		return uintptr(binary.NativeEndian.Uint32(b))
	}
	return uintptr(binary.NativeEndian.Uint64(b))
}

// prepare compiles the only statement of a text. The parser of the engine
// finds the end of the first statement; a second one is refused.
func (h *handle) prepare(sql string) (uintptr, error) {
	if strings.ContainsRune(sql, 0) {
		return 0, &engine.Refusal{Why: "the statement contains a NUL character"}
	}
	text, err := libc.CString(sql)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(h.tls, text)
	stmt, end, err := h.compile(text)
	if err != nil {
		return 0, err
	}
	if stmt == 0 {
		return 0, &engine.Refusal{Why: "the statement is empty"}
	}
	// The rest may be white space and comments, which compile to nothing.
	next, _, err := h.compile(end)
	if next != 0 {
		lib.Xsqlite3_finalize(h.tls, next)
	}
	if next != 0 || err != nil {
		lib.Xsqlite3_finalize(h.tls, stmt)
		return 0, &engine.Refusal{Why: "more than one statement", Advice: "Send them one by one"}
	}
	return stmt, nil
}

func (h *handle) compile(text uintptr) (stmt, end uintptr, err error) {
	var rc int32
	h.out(func(tail uintptr) int32 {
		rc = h.out(func(p uintptr) int32 { return lib.Xsqlite3_prepare_v2(h.tls, h.db, text, -1, p, tail) }, &stmt)
		return rc
	}, &end)
	if rc != lib.SQLITE_OK {
		return 0, 0, h.failure(rc)
	}
	return stmt, end, nil
}

// interruptible runs f and interrupts the engine when ctx ends.
func (h *handle) interruptible(ctx context.Context, f func() error) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		tls := libc.NewTLS() // a TLS belongs to one goroutine
		defer tls.Close()
		lib.Xsqlite3_interrupt(tls, h.db)
	})
	err := f()
	if !stop() {
		<-done // the handle must outlive it
	}
	return engine.Ended(ctx, err)
}

// failure converts a result code to an error.
func (h *handle) failure(rc int32) error {
	message := libc.GoString(lib.Xsqlite3_errstr(h.tls, rc))
	if h.db != 0 && lib.Xsqlite3_errcode(h.tls, h.db)&0xff == rc&0xff {
		message = libc.GoString(lib.Xsqlite3_errmsg(h.tls, h.db))
	}
	denied := rc&0xff == lib.SQLITE_AUTH || strings.HasPrefix(message, "not authorized to ")
	switch {
	case denied && h.write:
		return &engine.Refusal{Why: "SQLite: " + message, Advice: "A statement may change only the tables of this file, not other files, extensions or settings"}
	case denied || rc&0xff == lib.SQLITE_READONLY:
		return engine.ReadOnly("SQLite: " + message)
	}
	switch rc & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%s: another program holds a lock on the file; try again", message)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%s: no space left on the disk of the database or of temporary files. Nothing was changed", message)
	case lib.SQLITE_NOMEM:
		return fmt.Errorf("%s: the statement needs more than %d MiB of memory. Select fewer or shorter columns, such as substr(column, 1, 1000) and length(column)", message, maxHeap>>20)
	case lib.SQLITE_TOOBIG:
		return fmt.Errorf("%s: a value is too large", message)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%s: check that the file exists and can be read", message)
	}
	return fmt.Errorf("SQLite: %s", message)
}
