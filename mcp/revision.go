package mcp

// A Revision is a dated version of the protocol. It is for display: only
// package era depends on it.
type Revision string

// The supported revisions.
const (
	Rev20241105 Revision = "2024-11-05"
	Rev20250326 Revision = "2025-03-26"
	Rev20250618 Revision = "2025-06-18"
	Rev20251125 Revision = "2025-11-25"
	Rev20260728 Revision = "2026-07-28"
)

// Revisions returns the supported revisions, newest first.
func Revisions() []Revision {
	return []Revision{Rev20260728, Rev20251125, Rev20250618, Rev20250326, Rev20241105}
}
