package main

import (
	"fmt"
	"html"
	"strings"
)

// A chart is a picture of one metric of a scenario.
type chart struct {
	scenario string
	metric   string
	unit     string
}

var charts = []chart{
	{"modern-json-32", "cpu", "µs of CPU for each call"},
	{"legacy-json-32", "cpu", "µs of CPU for each call"},
	{"stdio-64", "cpu", "µs of CPU for each call"},
	{"list-1000", "cpu", "µs of CPU for each list"},
	{"result-1mb", "mbps", "MB/s"},
	{"argument-1mb", "mbps", "MB/s"},
	{"sessions", "kib", "KiB for each session"},
	{"streams", "kib", "KiB for each stream"},
	{"start", "ms", "ms"},
	{"memory", "wall", "µs for each call"},
}

const style = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:15px}
.unit{fill:#59636e}
.bar{fill:#8c959f}.tenon{fill:#0969da}.floor{fill:#d1d9e0}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.unit{fill:#9198a1}.bar{fill:#656c76}.tenon{fill:#4493f8}.floor{fill:#3d444d}}
</style>`

// draw makes an SVG with a bar for each peer, from nothing, to scale.
func (c *chart) draw(r *results) string {
	const left, width, step = 90, 430, 26
	var largest float64
	var names []string
	for _, p := range r.peers {
		if v, ok := r.get(p.name, c.metric); ok {
			names = append(names, p.name)
			largest = max(largest, v)
		}
	}
	var b strings.Builder
	height := 58 + step*len(names)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="%d" viewBox="0 0 640 %d" role="img">`, height, height)
	fmt.Fprintf(&b, "\n<title>%s, %s</title>\n%s\n", html.EscapeString(r.scenario.title), html.EscapeString(c.unit), style)
	fmt.Fprintf(&b, `<text class="title" x="0" y="18">%s</text><text class="unit" x="0" y="37">%s</text>`+"\n", html.EscapeString(r.scenario.title), html.EscapeString(c.unit))
	for i, name := range names {
		v, _ := r.get(name, c.metric)
		class := "bar"
		switch {
		case name == "tenon" || name == "tenonstdio":
			class = "tenon"
		case named(name).floor:
			class = "floor"
		}
		y, long := 50+step*i, max(1, v/max(largest, 1e-9)*width)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+14, name)
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="18" rx="2"/>`, class, left, y, long)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", left+long+6, y+14, short(v))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// short writes three digits or more.
func short(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
