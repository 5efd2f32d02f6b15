// Package sql is a server for one database: SQLite, PostgreSQL, MariaDB or
// MySQL. It shows the schema as resources, runs queries, and, if it is told to,
// statements that write.
//
// A query cannot change anything. It is not the text of a query that is looked
// at: the engine is put into a state in which it refuses to write and which a
// statement cannot leave. What that is for each engine, and where it ends, is in
// the documentation of its package and in docs/servers/sql.md.
//
// The engines are packages of their own, so that a program carries the drivers
// that it uses and no others:
//
//	import _ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"
package sql
