// Package sql is an MCP server for one database: SQLite, PostgreSQL, MariaDB or
// MySQL. It shows the schema as resources and runs queries, and, if configured,
// statements that write.
//
//	s, err := sql.New(sql.Config{DSN: "shop.db"})
//
// A query cannot change anything. The server does not rely on the text of a
// query: it puts the engine into a state in which it refuses to write and which
// a statement cannot leave. The package of each engine and docs/servers/sql.md
// describe that state and its limits.
//
// Each engine is a package, so that a program links only the drivers that it
// imports:
//
//	import _ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"
package sql
