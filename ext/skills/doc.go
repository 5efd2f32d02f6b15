// Package skills implements the Skills extension of the protocol,
// io.modelcontextprotocol/skills: a server offers skills, which are folders of
// instructions for a model, and a client loads and verifies them.
//
// A skill is a folder with a file SKILL.md, which begins with YAML frontmatter
// (a name and a description at least), and further files that SKILL.md refers
// to. On a server, [Add] serves all skills of a file system:
//
//	//go:embed skills
//	var files embed.FS
//
//	folder, _ := fs.Sub(files, "skills")
//	err := skills.Add(s, folder, nil)
//
// A client lists skills with [List], which reads no file, and loads one with
// [Load], which reads SKILL.md and compares it with the skill's entry. The
// [Loaded] skill reads the other files of the entry, and no others.
//
// A digest in an entry shows that a file is the one that the entry describes. It
// comes from the same server as the file and says nothing about whether either
// can be trusted.
package skills
