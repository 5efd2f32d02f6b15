// Package show prints protocol values: as text for a terminal, and in stable
// formats for scripts.
//
// Text of a server passes through internal/visible before it reaches a terminal,
// so that it cannot move the cursor, change colors, hide text or imitate Tenon's
// own output.
//
//	Format text    tables, trees, Markdown; as wide as the terminal
//	Format json    the protocol value, indented
//	Format jsonl   one list item per line
//	Format yaml    the same value as YAML
package show
