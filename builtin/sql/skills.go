package sql

import (
	"embed"
	"io/fs"

	"github.com/tenon-mcp/tenon/ext/skills"
)

//go:embed skills
var skillFiles embed.FS

func (d *database) addSkills() error {
	folder, err := fs.Sub(skillFiles, "skills")
	if err != nil {
		return err
	}
	return skills.Add(d.server, folder, nil)
}
