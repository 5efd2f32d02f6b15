package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// modulePath is the module that is released.
const modulePath = "github.com/tenon-mcp/tenon"

// A builder builds one commit in one folder.
type builder struct {
	commit commit
	source string // the files of the commit
	dir    string
	cache  string // of compiled packages; empty: that of the user
}

// A program is tenon for one platform.
type program struct {
	platform     string // such as linux/amd64
	system, arch string
	path         string
	data         []byte
	info         *buildinfo.BuildInfo
}

func (p *program) windows() bool { return p.system == "windows" }

// file is the name of the program on its platform.
func (p *program) file() string {
	if p.windows() {
		return "tenon.exe"
	}
	return "tenon"
}

func (b *builder) environment(more ...string) []string {
	// Settings of the user must not change the program.
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GODEBUG=", "GOENV=off"}
	for _, keep := range []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOMODCACHE"} {
		if value := os.Getenv(keep); value != "" {
			env = append(env, keep+"="+value)
		}
	}
	if b.cache != "" {
		env = append(env, "GOCACHE="+b.cache)
	}
	return append(env, more...)
}

// program builds tenon for a platform.
func (b *builder) program(ctx context.Context, platform string) (*program, error) {
	p := &program{platform: platform}
	p.system, p.arch, _ = strings.Cut(platform, "/")
	if !slices.Contains(allPlatforms, platform) {
		return nil, fmt.Errorf("unknown platform %q; use %s", platform, strings.Join(allPlatforms, ", "))
	}
	p.path = filepath.Join(b.dir, "bin", p.system+"_"+p.arch, p.file())
	stamp := modulePath + "/internal/version."
	_, err := command(ctx, b.source, b.environment("GOOS="+p.system, "GOARCH="+p.arch),
		"go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -buildid= -X "+stamp+"stamped="+b.commit.version+" -X "+stamp+"commit="+b.commit.id,
		"-o", p.path, "./cmd/tenon")
	if err != nil {
		return nil, err
	}
	if p.data, err = os.ReadFile(p.path); err != nil {
		return nil, err
	}
	if p.info, err = buildinfo.ReadFile(p.path); err != nil {
		return nil, fmt.Errorf("%s: %w", platform, err)
	}
	fmt.Println("  built", platform)
	return p, nil
}

// texts is what all platforms share.
type texts struct {
	man         files // by file name, such as tenon-call.1
	completions files // by shell
	licenses    map[string]license
	notices     []byte // the licenses of all modules
	license     []byte
	readme      []byte
}

// texts asks a program for its manual pages and completion scripts, and collects
// the licenses of the modules.
func (b *builder) texts(ctx context.Context, program string) (*texts, error) {
	t := &texts{man: files{}, completions: files{}}
	home := filepath.Join(b.dir, "home")
	env := []string{"HOME=" + home, "TENON_CONFIG_DIR=" + home, "XDG_DATA_HOME=" + home}
	man := filepath.Join(b.dir, "man")
	if _, err := command(ctx, b.dir, env, program, "man", man); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if t.man[page.Name()], err = os.ReadFile(filepath.Join(man, page.Name())); err != nil {
			return nil, err
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if t.completions[shell], err = command(ctx, b.dir, env, program, "completion", shell); err != nil {
			return nil, err
		}
	}
	if t.license, err = b.readFile("LICENSE"); err != nil {
		return nil, err
	}
	if t.readme, err = b.readFile("README.md"); err != nil {
		return nil, err
	}
	if t.licenses, err = b.licenses(ctx); err != nil {
		return nil, err
	}
	t.notices = notices(t.licenses)
	return t, nil
}

// A license is what a module says about its use.
type license struct {
	module, version string
	id              string // of SPDX; NOASSERTION if the text is not a known one
	text            string
}

// licenses returns the licenses of Go and of the modules that are needed to build
// the program for any platform, by module.
func (b *builder) licenses(ctx context.Context) (map[string]license, error) {
	all := map[string]license{}
	for _, platform := range allPlatforms {
		system, arch, _ := strings.Cut(platform, "/")
		out, err := command(ctx, b.source, b.environment("GOOS="+system, "GOARCH="+arch),
			"go", "list", "-mod=readonly", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`, "./cmd/tenon")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			word := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(word) < 3 || all[word[0]].text != "" {
				continue
			}
			l := license{module: word[0], version: word[1]}
			if l.text, err = licenseText(word[2]); err != nil {
				return nil, fmt.Errorf("%s: %w", l.module, err)
			}
			l.id = licenseID(l.text)
			all[l.module] = l
		}
	}
	out, err := command(ctx, b.source, b.environment(), "go", "env", "-json", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	var env struct{ GOROOT, GOVERSION string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, err
	}
	text, err := licenseText(env.GOROOT)
	if err != nil {
		return nil, fmt.Errorf("the license of Go: %w", err)
	}
	all["std"] = license{module: "std", version: env.GOVERSION, id: licenseID(text), text: text}
	return all, nil
}
