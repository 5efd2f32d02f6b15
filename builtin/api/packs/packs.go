// Package packs has the files of the APIs that Tenon wraps itself. Each is one
// file for package api, and no code.
package packs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the packs, sorted.
func Names() []string {
	all, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for i, name := range all {
		all[i] = strings.TrimSuffix(name, ".yaml")
	}
	return all
}

// File returns the file of a pack; ok is false if there is no such pack.
func File(name string) (data []byte, ok bool) {
	data, err := files.ReadFile(name + ".yaml")
	return data, err == nil
}
