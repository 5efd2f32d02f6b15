package notes

import (
	"embed"
	"io/fs"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/server"
)

//go:embed skills
var skillFiles embed.FS

// skillScheme begins the URIs of skills, which are the same for every caller.
const skillScheme = "skill://"

func addSkills(s *server.Server) error {
	folder, err := fs.Sub(skillFiles, "skills")
	if err != nil {
		return err
	}
	return skills.Add(s, folder, nil)
}
