package main

import (
	"embed"
	"io/fs"
	"time"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

//go:embed skills
var skillFiles embed.FS

// addSkills adds the skills of the skills scenarios: one with a subdirectory,
// and one below another folder, each on a page of its own.
func addSkills(s *server.Server) error {
	folder, err := fs.Sub(skillFiles, "skills")
	if err != nil {
		return err
	}
	return skills.Add(s, folder, &skills.Options{PageSize: 1, Cache: mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic}})
}
