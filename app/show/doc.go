// Package show turns what servers say into text: for a person at a terminal,
// and, in formats that do not change, for scripts.
//
// Everything that a server has written passes internal/visible before it
// reaches a terminal: it cannot move the cursor, change colours, hide words or
// write lines that seem to be ours.
//
//	Format text    tables, trees, Markdown; as wide as the terminal
//	Format json    the value of the protocol, indented
//	Format jsonl   one item of a list on each line
//	Format yaml    the same value as YAML
package show
