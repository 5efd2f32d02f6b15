// Package version returns the version of this program.
package version

import (
	"runtime/debug"
	"strings"
)

// stamped and commit are set when a release is built:
//
//	go build -ldflags "-X github.com/tenon-mcp/tenon/internal/version.stamped=v1.2.3" ./cmd/tenon
var stamped, commit string

// String returns the version that was set at build time, or else that of the
// module with the commit if it is known.
func String() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	v = "development"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			v += " with changes"
		}
	}
	return strings.TrimSpace(v)
}

// Commit returns the commit that the program was built from, or "" if it is not
// known, as after go install of a version.
func Commit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
