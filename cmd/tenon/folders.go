package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// The folders of a user's files:
//
//	configuration   tenon.json, approved.json               configDir
//	host            sessions, tasks, approvals, audit, history     hostDir: host below the configuration folder, or below --workspace
//	logins          one file each                           logins: tokens below the configuration folder
//	samples         vault, files and shop of tenon up       sampleDir: the data folder, or --workspace

// hostDir returns the folder in which chat, run, up and inspect store sessions,
// tasks, approvals, the audit log and the history. folder is the value of --workspace.
func (p *program) hostDir(folder string) (string, error) {
	config, err := p.configDir()
	if err != nil {
		return "", err
	}
	p.moveOldFiles()
	if folder == "" {
		return filepath.Join(config, "host"), nil
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if p.userDir == "" {
		if data, err := sampleDir(""); err == nil && data == dir {
			return filepath.Join(config, "host"), nil // what was there was moved
		}
		p.moveFrom(dir, workspace.Folders{Tokens: filepath.Join(dir, "tokens")})
	}
	return filepath.Join(dir, "host"), nil
}

// folderError adds to the error of a folder that cannot be written how to choose
// another one. folder is the value of --workspace.
func folderError(folder string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	if folder != "" {
		return fmt.Errorf("%w; choose a folder that you can write with --workspace", err)
	}
	return fmt.Errorf("%w; set TENON_CONFIG_DIR to a folder that you can write", err)
}

// logins returns the store of logins that all commands share.
func (p *program) logins() (tokens.Store, error) {
	config, err := p.configDir()
	if err != nil {
		return nil, err
	}
	p.moveOldFiles()
	return &tokens.Files{Dir: filepath.Join(config, "tokens")}, nil
}

// moveOldFiles moves files of older versions of tenon up from the data folder to
// the folder that all commands use, once in a run. If the configuration folder
// was chosen for this run, it moves nothing: that folder may be temporary.
func (p *program) moveOldFiles() {
	p.moved.Do(func() {
		if data, err := sampleDir(""); err == nil && p.userDir == "" {
			p.moveFrom(data, oldFolders(data))
		}
	})
}

// oldFolders returns the folders of older versions of tenon up in a workspace.
func oldFolders(dir string) workspace.Folders {
	return workspace.Folders{Host: filepath.Join(dir, "host"), Tokens: filepath.Join(dir, "tokens")}
}

// moveFrom moves files below dir to the configuration folder, and prints a note.
func (p *program) moveFrom(dir string, files workspace.Folders) {
	config, err := p.configDir()
	if err != nil {
		return
	}
	here := workspace.Folders{Host: filepath.Join(config, "host"), Tokens: filepath.Join(config, "tokens")}
	moved, err := here.MoveFrom(p.ctx, files)
	if len(moved) > 0 {
		p.note("Moved from %s to %s, which all commands use: %s.", dir, config, strings.Join(moved, ", "))
	}
	switch {
	case errors.Is(err, store.ErrInUse):
		p.note("Another tenon process has the sessions in %s open. They will be moved to %s once it exits.", dir, config)
	case err != nil:
		p.note("Could not move everything from %s to %s: %v", dir, config, err)
	}
}

// noteOldFiles prints where older sessions are that moveOldFiles did not move.
func (p *program) noteOldFiles() {
	if data, err := sampleDir(""); err == nil && p.userDir != "" && oldFolders(data).HasFiles() {
		p.note("Older sessions of tenon up are in %s. They were not moved to %s, since that folder was chosen for this run. Open them with tenon up --workspace %s.", data, p.userDir, data)
	}
}

// sampleDir returns the folder for the samples of tenon up: the given folder, or
// one in the user's data folder.
func sampleDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "tenon"), nil
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("APPDATA") == "" {
		return filepath.Join(home, ".local", "share", "tenon"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usagef("find your data folder: %w (use --workspace)", err)
	}
	return filepath.Join(dir, "tenon", "workspace"), nil
}
