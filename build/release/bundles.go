package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// The parts of a bundle's manifest (version 0.3) that our bundles have.
type (
	manifest struct {
		ManifestVersion string               `json:"manifest_version"`
		Name            string               `json:"name"`
		DisplayName     string               `json:"display_name"`
		Version         string               `json:"version"`
		Description     string               `json:"description"`
		Author          author               `json:"author"`
		Repository      repository           `json:"repository"`
		Homepage        string               `json:"homepage"`
		Documentation   string               `json:"documentation"`
		License         string               `json:"license"`
		Server          bundleServer         `json:"server"`
		Compatibility   compatibility        `json:"compatibility"`
		ToolsGenerated  bool                 `json:"tools_generated"`
		UserConfig      map[string]userInput `json:"user_config,omitempty"`
	}
	author struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	repository struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	bundleServer struct {
		Type       string `json:"type"`
		EntryPoint string `json:"entry_point"`
		Config     start  `json:"mcp_config"`
	}
	start struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	compatibility struct {
		Platforms []string `json:"platforms"`
	}
	userInput struct {
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Default     any    `json:"default,omitempty"`
		Sensitive   bool   `json:"sensitive,omitempty"`
		Multiple    bool   `json:"multiple,omitempty"`
	}
)

// A bundled is a builtin server of which there are bundles. What it is asked for
// becomes arguments of tenon serve, and the environment.
type bundled struct {
	name, title, about string
	args               []string
	env                map[string]string
	inputs             map[string]userInput
}

// token returns a bundled server of an API that takes a token from a variable.
func token(name, title, about, variable, hint string) bundled {
	return bundled{name: name, title: title, about: about,
		args:   []string{"readonly=${user_config.readonly}"},
		env:    map[string]string{variable: "${user_config.token}"},
		inputs: map[string]userInput{"token": {Type: "string", Title: "Token", Description: hint, Required: true, Sensitive: true}, "readonly": readOnly(false)}}
}

func readOnly(on bool) userInput {
	return userInput{Type: "boolean", Title: "Read only", Description: "Offer only tools that change nothing", Default: on}
}

// bundledServers are the builtin servers that are of use without a file that
// describes an API and without a second program: api, demo and orders are not.
var bundledServers = []bundled{
	{name: "calc", title: "Calculator", about: "Exact arithmetic"},
	{name: "fs", title: "Files", about: "Files below one folder",
		args: []string{"root=${user_config.root}", "readonly=${user_config.readonly}"},
		inputs: map[string]userInput{"root": {Type: "directory", Title: "Folder", Description: "The folder whose files the model may use", Required: true},
			"readonly": readOnly(false)}},
	{name: "notes", title: "Notes", about: "A vault of Markdown notes, such as Obsidian's",
		args: []string{"vault=${user_config.vault}", "readonly=${user_config.readonly}"},
		inputs: map[string]userInput{"vault": {Type: "directory", Title: "Vault", Description: "The folder with the notes", Required: true},
			"readonly": readOnly(false)}},
	{name: "sql", title: "Database", about: "A SQLite, PostgreSQL or MariaDB database",
		args: []string{"dsn=${user_config.dsn}", "writes=${user_config.writes}"},
		inputs: map[string]userInput{"dsn": {Type: "string", Title: "Database", Description: "A SQLite file, or a URL such as postgres://user:password@host/name", Required: true, Sensitive: true},
			"writes": {Type: "boolean", Title: "Allow changes", Description: "Offer a tool that changes the database", Default: false}}},
	token("github", "GitHub", "Repositories, issues and pull requests of GitHub", "GITHUB_TOKEN", "A personal access token of GitHub"),
	token("slack", "Slack", "Channels, messages, search and files of Slack", "SLACK_TOKEN", "A token of a Slack app"),
	token("onenote", "OneNote", "Notebooks, sections and pages of OneNote", "GRAPH_TOKEN", "A token for Microsoft Graph"),
}

// bundles adds a bundle of each server for one platform.
func (b *builder) bundles(all files, p *program, t *texts) error {
	// The program is the same in all of them and is compressed once.
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(p.data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	for _, s := range bundledServers {
		text, err := json.MarshalIndent(b.manifest(s, p), "", "  ")
		if err != nil {
			return err
		}
		data, err := b.bundle(p, packed.Bytes(), files{"manifest.json": append(text, '\n'), "LICENSE": t.license, "NOTICES.txt": t.notices})
		if err != nil {
			return fmt.Errorf("bundle of %s: %w", s.name, err)
		}
		all[fmt.Sprintf("tenon-%s_%s_%s_%s.mcpb", s.name, b.commit.plain(), p.system, p.arch)] = data
	}
	return nil
}

func (b *builder) manifest(s bundled, p *program) manifest {
	entry := "server/" + p.file()
	system := p.system
	if p.windows() {
		system = "win32"
	}
	return manifest{ManifestVersion: "0.3", Name: "tenon-" + s.name, DisplayName: "Tenon: " + s.title, Version: b.commit.plain(), Description: s.about,
		Author: author{"Tenon", "https://" + modulePath}, Repository: repository{"git", "https://" + modulePath}, Homepage: "https://" + modulePath,
		Documentation: "https://" + modulePath + "/blob/main/docs/servers/" + s.name + ".md", License: "Apache-2.0",
		Server:        bundleServer{"binary", entry, start{"${__dirname}/" + entry, append([]string{"serve", s.name}, s.args...), s.env}},
		Compatibility: compatibility{[]string{system}}, ToolsGenerated: true, UserConfig: s.inputs}
}

// bundle returns a bundle with a program that is compressed already.
func (b *builder) bundle(p *program, packed []byte, texts files) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range sorted(texts) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.commit.time}
		h.SetMode(0o644)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(texts[name]); err != nil {
			return nil, err
		}
	}
	h := &zip.FileHeader{Name: "server/" + p.file(), Method: zip.Deflate, Modified: b.commit.time,
		CRC32: crc32.ChecksumIEEE(p.data), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(p.data))}
	h.SetMode(0o755)
	f, err := w.CreateRaw(h)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(packed); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
