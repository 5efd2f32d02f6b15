package discovery

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A manager is a program that runs packages of one type.
type manager struct {
	programs   []string // values of runtimeHint; the first is the default
	identifier func() *regexp.Regexp
	base       []string // the values of registryBaseUrl that mean the default
	arguments  func(p *Package, runtime, program []argument) ([]argument, string)
}

// managers has the supported types of packages, except bundles. Identifiers must
// match a pattern because they become words of a command line.
var managers = map[string]manager{
	"npm": {
		programs: []string{"npx", "bunx"}, base: []string{"https://registry.npmjs.org"},
		identifier: pattern(`^(@[A-Za-z0-9~_][A-Za-z0-9~_.-]*/)?[A-Za-z0-9~_][A-Za-z0-9~_.-]*$`),
		arguments: func(p *Package, runtime, program []argument) ([]argument, string) {
			if !slices.ContainsFunc(runtime, func(a argument) bool { return a.is("-y") || a.is("--yes") }) && p.RuntimeHint != "bunx" {
				runtime = append(runtime, argument{flag: "-y"})
			}
			return with(runtime, p.Identifier+"@"+p.Version, program...)
		},
	},
	"pypi": {
		programs: []string{"uvx"}, base: []string{"https://pypi.org"},
		identifier: pattern(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`),
		arguments: func(p *Package, runtime, program []argument) ([]argument, string) {
			return with(runtime, p.Identifier+"@"+p.Version, program...)
		},
	},
	"nuget": {
		programs: []string{"dnx"}, base: []string{"https://api.nuget.org", "https://api.nuget.org/v3/index.json"},
		identifier: pattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`),
		arguments: func(p *Package, runtime, program []argument) ([]argument, string) {
			after := []argument{{flag: "--yes"}}
			if len(program) > 0 {
				after = append(append(after, argument{flag: "--"}), program...)
			}
			return with(runtime, p.Identifier+"@"+p.Version, after...)
		},
	},
	"oci": {
		programs: []string{"docker", "podman"}, base: []string{"https://docker.io"},
		identifier: pattern(`^[a-z0-9][a-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`),
		arguments: func(p *Package, runtime, program []argument) ([]argument, string) {
			if len(runtime) > 0 && runtime[0].is("run") {
				runtime = runtime[1:]
			}
			return with(append([]argument{{flag: "run"}, {flag: "-i"}, {flag: "--rm"}}, runtime...), p.image(), program...)
		},
	},
}

// is reports whether an argument is a fixed word.
func (a argument) is(word string) bool {
	return a.flag == word && a.value == nil || a.flag == "" && len(a.value) == 1 && a.value[0].text == word
}

// with returns arguments with a word between them, and the word.
func with(before []argument, word string, after ...argument) ([]argument, string) {
	return slices.Concat(before, []argument{{flag: word}}, after), word
}

// versionPattern is the syntax of a version that becomes part of a word.
var versionPattern = pattern(`^[A-Za-z0-9][A-Za-z0-9.+_!-]*$`)

// image returns the reference of a container image.
func (p *Package) image() string {
	if p.Version != "" && !p.imagePinned() {
		return p.Identifier + ":" + p.Version
	}
	return p.Identifier
}

// imagePinned reports whether the identifier of an image has a version itself.
func (p *Package) imagePinned() bool {
	name := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return strings.Contains(name, "@") || tagged && tag != "latest"
}

// option returns the option for a package.
func (p *Package) option(number int) *Option {
	o := &Option{Kind: PackageOption, Number: number, Type: p.RegistryType, Target: p.Identifier}
	if p.Transport.Type != "stdio" {
		o.Unsupported = fmt.Sprintf("it is a program that serves %s itself; start it yourself, then add its URL", p.Transport.Type)
		return o
	}
	if p.RegistryType == "mcpb" {
		p.bundle(o)
		return o
	}
	m, ok := managers[p.RegistryType]
	if !ok {
		o.Unsupported = fmt.Sprintf("Tenon runs npm, pypi, oci, nuget and mcpb packages, not %s", clip(p.RegistryType))
		return o
	}
	if o.Unsupported = p.refusal(m); o.Unsupported != "" {
		return o
	}
	o.Program = m.programs[0]
	switch {
	case slices.Contains(m.programs, p.RuntimeHint):
		o.Program = p.RuntimeHint
	case p.RuntimeHint != "":
		o.Warnings = append(o.Warnings, fmt.Sprintf("it suggests the program %s, which Tenon does not use for %s packages; %s runs it", clip(p.RuntimeHint), p.RegistryType, o.Program))
	}
	o.recipe.command = literal(o.Program)
	runtime := o.arguments("runtime argument", p.RuntimeArguments)
	for _, v := range p.EnvironmentVariables {
		value := o.bind(v.Input, v.Variables, place{name: v.Name, target: "environment variable " + v.Name})
		o.recipe.env = append(o.recipe.env, binding{v.Name, value})
		if p.RegistryType == "oci" { // a container gets only the variables that are named
			runtime = append(runtime, argument{flag: "-e", value: literal(v.Name), when: value})
		}
	}
	o.recipe.args, o.Target = m.arguments(p, runtime, o.arguments("argument", p.PackageArguments))
	return o
}

// refusal returns why a package cannot be used, or "".
func (p *Package) refusal(m manager) string {
	base := strings.TrimSuffix(p.RegistryBaseURL, "/")
	switch {
	case base != "" && !slices.Contains(m.base, base):
		return fmt.Sprintf("it comes from the package registry %s, which Tenon does not use", clip(base))
	case !m.identifier().MatchString(p.Identifier):
		return fmt.Sprintf("%q is not the name of a package of type %s", clip(p.Identifier), p.RegistryType)
	case p.Version != "" && !versionPattern().MatchString(p.Version):
		return fmt.Sprintf("%q is not a version of a package of type %s", clip(p.Version), p.RegistryType)
	case p.Version == "" && (p.RegistryType != "oci" || !p.imagePinned()):
		return "it has no version, so another program could run tomorrow"
	case p.FileSHA256 != "":
		return fmt.Sprintf("it has a fileSha256, which Tenon cannot check for packages of type %s", p.RegistryType)
	}
	return ""
}

// bundle sets the download of an mcpb package.
func (p *Package) bundle(o *Option) {
	u, err := url.Parse(p.Identifier)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		o.Unsupported = "its identifier is not a URL of a bundle"
	case p.FileSHA256 == "":
		o.Unsupported = "it has no fileSha256, which a bundle must have"
	default:
		o.Download = &Download{URL: p.Identifier, SHA256: p.FileSHA256}
	}
}

// arguments returns the arguments of a package or of the program that runs it.
func (o *Option) arguments(what string, list []Argument) []argument {
	var all []argument
	for i, a := range list {
		if a.Type == "positional" {
			at := place{name: a.ValueHint, target: fmt.Sprintf("%s %d", what, i+1), multiple: a.IsRepeated}
			if at.name == "" {
				at.name = fmt.Sprintf("argument-%d", i+1)
			}
			all = append(all, argument{value: o.bind(a.Input, a.Variables, at)})
			continue
		}
		if a.isSwitch() {
			all = append(all, argument{flag: a.Name})
			continue
		}
		at := place{name: strings.TrimLeft(a.Name, "-"), target: what + " " + a.Name, multiple: a.IsRepeated}
		all = append(all, argument{flag: a.Name, joined: strings.HasPrefix(a.Name, "--"), value: o.bind(a.Input, a.Variables, at)})
	}
	return all
}

// isSwitch reports whether a named argument has nothing that speaks of a value.
func (a *Argument) isSwitch() bool {
	return a.Value == nil && a.Default == nil && a.Description == "" && a.Placeholder == "" && a.Format == "" && len(a.Choices) == 0 && !a.IsRequired && !a.IsSecret && !a.IsRepeated
}
