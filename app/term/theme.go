package term

import (
	"os"

	"charm.land/lipgloss/v2"
)

// A theme is a set of styles. Colors are never the only distinction.
type theme struct {
	name   string
	color  bool // false for the plain theme
	dim    lipgloss.Style
	bold   lipgloss.Style
	accent lipgloss.Style // messages of the user, and what is chosen
	good   lipgloss.Style
	bad    lipgloss.Style
	warn   lipgloss.Style
	loud   lipgloss.Style // an important question
	pick   lipgloss.Style // the line with the focus
	bar    lipgloss.Style // the line at the bottom
}

// newTheme returns the theme with a name; auto follows the terminal's background.
func newTheme(name string, dark bool) theme {
	if name == "" || name == "auto" {
		switch {
		case os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb":
			name = "plain"
		case dark:
			name = "dark"
		default:
			name = "light"
		}
	}
	style := lipgloss.NewStyle
	if name == "plain" {
		none := style()
		return theme{name: name, dim: none, bold: none, accent: none, good: none, bad: none, warn: none,
			loud: none.Reverse(true), pick: none.Reverse(true), bar: none.Reverse(true)}
	}
	pick := lipgloss.LightDark(name == "dark")
	fore := func(light, dark string) lipgloss.Style {
		return style().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	return theme{
		name: name, color: true,
		dim:    fore("#6b6b6b", "#8a8a8a"),
		bold:   style().Bold(true),
		accent: fore("#0b5cad", "#7fb8ff").Bold(true),
		good:   fore("#1a7f37", "#67c97f"),
		bad:    fore("#b42318", "#ff7b72"),
		warn:   fore("#8a5a00", "#e3b341"),
		loud:   style().Bold(true).Foreground(lipgloss.Color("#ffffff")).Background(lipgloss.Color("#b42318")),
		pick:   style().Bold(true).Foreground(pick(lipgloss.Color("#000000"), lipgloss.Color("#ffffff"))).Background(pick(lipgloss.Color("#cfe3fb"), lipgloss.Color("#2f4a6d"))),
		bar:    style().Foreground(pick(lipgloss.Color("#303030"), lipgloss.Color("#d0d0d0"))).Background(pick(lipgloss.Color("#e4e4e4"), lipgloss.Color("#303030"))),
	}
}
