package sqlite

import (
	"strings"
	"unsafe"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// restrict limits what statements of a handle can do. A statement cannot
// undo it:
//
//   - a handle for reading is opened read-only, so that the engine has no way
//     to write to its file;
//   - the authorizer checks every action of every statement while it is
//     compiled against a list of allowed actions;
//   - no other file can be attached, which is also how VACUUM INTO writes;
//   - no extension can be loaded, and a schema is not trusted with functions
//     that do more than compute.
func (h *handle) restrict(write bool, o engine.Options) {
	limit := func(id, value int32) { lib.Xsqlite3_limit(h.tls, h.db, id, value) }
	limit(lib.SQLITE_LIMIT_LENGTH, int32(o.MaxMessage))
	limit(lib.SQLITE_LIMIT_SQL_LENGTH, 1<<20)
	limit(lib.SQLITE_LIMIT_WORKER_THREADS, 0)
	h.configure(lib.SQLITE_DBCONFIG_DEFENSIVE, true)
	h.configure(lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
	h.configure(lib.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, false)
	ask := pointerTo(authorizeRead)
	if write {
		h.configure(lib.SQLITE_DBCONFIG_ENABLE_FKEY, true)
		ask = pointerTo(authorizeWrite)
	} else {
		limit(lib.SQLITE_LIMIT_ATTACHED, 0)
	}
	lib.Xsqlite3_set_authorizer(h.tls, h.db, ask, 0)
}

// configure sets an option of the handle.
func (h *handle) configure(what int32, on bool) {
	var value int32
	if on {
		value = 1
	}
	args := libc.Xcalloc(h.tls, 2, 8)
	if args == 0 {
		return
	}
	defer libc.Xfree(h.tls, args)
	lib.Xsqlite3_db_config(h.tls, h.db, what, libc.VaList(args, value, uintptr(0)))
}

type authorizer = func(tls *libc.TLS, arg uintptr, action int32, a, b, database, trigger uintptr) int32

// pointerTo returns a declared function as the library calls it: the pointer
// in a Go function value.
func pointerTo(f authorizer) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// authorizeRead allows only the listed actions that read.
func authorizeRead(_ *libc.TLS, _ uintptr, action int32, a, b, _, _ uintptr) int32 {
	switch action {
	case lib.SQLITE_SELECT, lib.SQLITE_READ, lib.SQLITE_RECURSIVE:
		return lib.SQLITE_OK
	case lib.SQLITE_FUNCTION:
		return verdict(!forbiddenFunctions[strings.ToLower(libc.GoString(b))])
	case lib.SQLITE_PRAGMA:
		return verdict(readingPragma(libc.GoString(a), b != 0))
	}
	return lib.SQLITE_DENY
}

// authorizeWrite allows every action within the file.
func authorizeWrite(_ *libc.TLS, _ uintptr, action int32, a, b, _, _ uintptr) int32 {
	switch action {
	case lib.SQLITE_ATTACH:
		// VACUUM attaches a file without a name; any other name is another
		// file.
		return verdict(a != 0 && libc.GoString(a) == "")
	case lib.SQLITE_DETACH:
		return verdict(libc.GoString(a) == "vacuum_db")
	case lib.SQLITE_FUNCTION:
		return verdict(!forbiddenFunctions[strings.ToLower(libc.GoString(b))])
	case lib.SQLITE_PRAGMA:
		name := libc.GoString(a)
		return verdict(readingPragma(name, b != 0) || writingPragmas[strings.ToLower(name)])
	}
	return lib.SQLITE_OK
}

func verdict(ok bool) int32 {
	if ok {
		return lib.SQLITE_OK
	}
	return lib.SQLITE_DENY
}

var forbiddenFunctions = map[string]bool{
	"load_extension": true, "fts3_tokenizer": true, "readfile": true, "writefile": true, "edit": true,
}

// readingPragma reports whether a pragma only reads. Some change a setting
// if they have a value; these are allowed without one.
func readingPragma(name string, hasValue bool) bool {
	switch strings.ToLower(name) {
	case "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
		"foreign_key_check", "integrity_check", "quick_check", "collation_list", "function_list", "module_list",
		"pragma_list", "compile_options":
		return true
	case "user_version", "application_id", "schema_version", "data_version", "encoding", "page_count", "page_size",
		"freelist_count", "journal_mode", "foreign_keys", "auto_vacuum", "query_only":
		return !hasValue
	}
	return false
}

var writingPragmas = map[string]bool{
	"user_version": true, "application_id": true, "optimize": true, "incremental_vacuum": true, "wal_checkpoint": true, "defer_foreign_keys": true,
}
