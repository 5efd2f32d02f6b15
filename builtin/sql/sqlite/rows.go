package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// transient makes the library copy bound values.
const transient = ^uintptr(0)

// bind binds the parameters of a statement.
func (h *handle) bind(stmt uintptr, params []any) error {
	if want := int(lib.Xsqlite3_bind_parameter_count(h.tls, stmt)); want != len(params) {
		return fmt.Errorf("the statement has %d placeholders but there are %d params; pass one value for each", want, len(params))
	}
	for i, p := range params {
		if rc := h.bindOne(stmt, int32(i+1), p); rc != lib.SQLITE_OK {
			return fmt.Errorf("params[%d]: %w", i, h.failure(rc))
		}
	}
	return nil
}

func (h *handle) bindOne(stmt uintptr, i int32, p any) int32 {
	switch p := p.(type) {
	case nil:
		return lib.Xsqlite3_bind_null(h.tls, stmt, i)
	case bool:
		if p {
			return lib.Xsqlite3_bind_int64(h.tls, stmt, i, 1)
		}
		return lib.Xsqlite3_bind_int64(h.tls, stmt, i, 0)
	case int64:
		return lib.Xsqlite3_bind_int64(h.tls, stmt, i, p)
	case float64:
		return lib.Xsqlite3_bind_double(h.tls, stmt, i, p)
	case engine.Decimal:
		return h.bindText(stmt, i, string(p))
	case engine.JSON:
		return h.bindText(stmt, i, string(p))
	case string:
		return h.bindText(stmt, i, p)
	case engine.Bytes:
		return h.bindBlob(stmt, i, p.Head)
	}
	return lib.SQLITE_MISMATCH
}

func (h *handle) bindText(stmt uintptr, i int32, s string) int32 {
	p := h.copyIn([]byte(s))
	defer libc.Xfree(h.tls, p)
	return lib.Xsqlite3_bind_text(h.tls, stmt, i, p, int32(len(s)), transient)
}

func (h *handle) bindBlob(stmt uintptr, i int32, b []byte) int32 {
	p := h.copyIn(b)
	defer libc.Xfree(h.tls, p)
	return lib.Xsqlite3_bind_blob(h.tls, stmt, i, p, int32(len(b)), transient)
}

// copyIn copies bytes into the memory of the library.
func (h *handle) copyIn(b []byte) uintptr {
	p := libc.Xmalloc(h.tls, types.Size_t(len(b)+1))
	copy(libc.GoBytes(p, len(b)+1), append(b[:len(b):len(b)], 0))
	return p
}

// run steps through a statement.
func (h *handle) run(stmt uintptr, to engine.Sink) error {
	columns := make([]engine.Column, lib.Xsqlite3_column_count(h.tls, stmt))
	for i := range columns {
		columns[i].Name = libc.GoString(lib.Xsqlite3_column_name(h.tls, stmt, int32(i)))
		columns[i].Type = strings.ToLower(libc.GoString(lib.Xsqlite3_column_decltype(h.tls, stmt, int32(i))))
	}
	if err := to.Columns(columns); err != nil {
		return ignoreEnough(err)
	}
	for {
		switch rc := lib.Xsqlite3_step(h.tls, stmt); rc {
		case lib.SQLITE_DONE:
			return nil
		case lib.SQLITE_ROW:
			row := make([]any, len(columns))
			for i := range row {
				row[i] = h.value(stmt, int32(i))
			}
			if err := to.Row(row); err != nil {
				return ignoreEnough(err)
			}
		default:
			return h.failure(rc)
		}
	}
}

func ignoreEnough(err error) error {
	if errors.Is(err, engine.Enough) {
		return nil
	}
	return err
}

// headOfBlob is the number of bytes read of binary data.
const headOfBlob = 64 << 10

func (h *handle) value(stmt uintptr, i int32) any {
	switch lib.Xsqlite3_column_type(h.tls, stmt, i) {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_column_int64(h.tls, stmt, i)
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_column_double(h.tls, stmt, i)
	case lib.SQLITE_TEXT:
		p := lib.Xsqlite3_column_text(h.tls, stmt, i)
		b := h.bytes(p, int(lib.Xsqlite3_column_bytes(h.tls, stmt, i)))
		if !utf8.Valid(b) { // invalid UTF-8 is returned as bytes
			return engine.Bytes{Head: slices.Clone(b[:min(len(b), headOfBlob)]), Size: int64(len(b))}
		}
		return string(b)
	case lib.SQLITE_BLOB:
		p := lib.Xsqlite3_column_blob(h.tls, stmt, i)
		b := h.bytes(p, int(lib.Xsqlite3_column_bytes(h.tls, stmt, i)))
		return engine.Bytes{Head: slices.Clone(b[:min(len(b), headOfBlob)]), Size: int64(len(b))}
	}
	return nil
}

// bytes returns a view of the memory of the library, valid until the next step.
func (h *handle) bytes(p uintptr, n int) []byte {
	if p == 0 || n == 0 {
		return nil
	}
	return libc.GoBytes(p, n)
}
