package show

// The colors. They are never the only distinction.
const (
	reset     = "\x1b[0m"
	bold      = "\x1b[1m"
	dim       = "\x1b[2m"
	italic    = "\x1b[3m"
	underline = "\x1b[4m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	magenta   = "\x1b[35m"
	cyan      = "\x1b[36m"
)

func (p *Printer) paint(style, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return style + s + reset
}

// Bold, Dim, Red, Green and Yellow style text if colors are enabled. The text
// must be safe.
func (p *Printer) Bold(s string) string   { return p.paint(bold, s) }
func (p *Printer) Dim(s string) string    { return p.paint(dim, s) }
func (p *Printer) Red(s string) string    { return p.paint(red, s) }
func (p *Printer) Green(s string) string  { return p.paint(green, s) }
func (p *Printer) Yellow(s string) string { return p.paint(yellow, s) }
