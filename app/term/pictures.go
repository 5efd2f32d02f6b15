package term

import (
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/term/internal/draw"
	"github.com/tenon-mcp/tenon/mcp"
)

// A gallery has the images of the conversation, for terminals that can show them.
// Only the goroutine of the program uses it.
type gallery struct {
	graphics draw.Graphics
	cell     image.Point // the pixels of a character
	all      map[string]*picture
	order    []string // the keys of all, the oldest first
	next     uint32   // the ID of the next image
	start    func(load func() tea.Msg)
}

// A picture is an image in the gallery. Its image is nil until it is decoded, and if
// it cannot be.
type picture struct {
	image *draw.Image
	data  []byte // keeps the address, which is part of the key
}

// A pictureMsg has an image that was decoded.
type pictureMsg struct {
	key   string
	image *draw.Image
}

// The bounds of images on the screen.
const (
	mostPictures       = 64 // that are kept
	mostPictureColumns = 60
	mostPictureRows    = 16
	mostInBlock        = 4
)

// newGallery returns a gallery; start runs a function in another goroutine and sends
// its result to the program.
func newGallery(start func(load func() tea.Msg)) *gallery {
	return &gallery{cell: image.Pt(10, 20), all: map[string]*picture{}, next: 1 + rand.Uint32N(1<<23), start: start}
}

// A pictureSource is an image to show: its bytes, or a file.
type pictureSource struct {
	data []byte
	file string
}

func (s pictureSource) key(columns int) string {
	if s.file != "" {
		return fmt.Sprintf("%s\x00%d", s.file, columns)
	}
	return fmt.Sprintf("%p\x00%d\x00%d", &s.data[0], len(s.data), columns)
}

// load returns the bytes.
func (s pictureSource) load() ([]byte, error) {
	if s.file == "" {
		return s.data, nil
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, draw.MostBytes+1))
}

// lines returns a line for each row of the images that are ready, and begins to
// decode the others. View replaces the lines. A nil gallery has none.
func (g *gallery) lines(sources []pictureSource, indent, width int) (lines []string) {
	if g == nil || g.graphics == draw.NoGraphics {
		return nil
	}
	room := min(width-indent-1, mostPictureColumns)
	if room < 8 {
		return nil
	}
	for _, s := range sources[:min(len(sources), mostInBlock)] {
		if s.file == "" && len(s.data) == 0 {
			continue
		}
		p := g.get(s, room)
		if p.image == nil {
			continue
		}
		for row := range p.image.Rows {
			lines = append(lines, fmt.Sprintf("%s%d %d %d", pictureMark, p.image.ID, row, indent))
		}
	}
	return lines
}

// get returns an image of the gallery; a new one is decoded first.
func (g *gallery) get(s pictureSource, columns int) *picture {
	key := s.key(columns)
	if p := g.all[key]; p != nil {
		return p
	}
	p := &picture{data: s.data}
	g.all[key] = p
	if g.order = append(g.order, key); len(g.order) > mostPictures {
		delete(g.all, g.order[0])
		g.order = g.order[1:]
	}
	id, graphics, cell := g.next, g.graphics, g.cell
	g.next++
	g.start(func() tea.Msg {
		data, err := s.load()
		if err != nil {
			return nil
		}
		img, err := draw.Decode(data)
		if err != nil {
			return nil // the text says that it is there
		}
		encoded, err := draw.Encode(img, graphics, id, columns, mostPictureRows, cell)
		if err != nil {
			return nil
		}
		return pictureMsg{key, encoded}
	})
	return p
}

// byID returns an image of the gallery; nil if it has gone.
func (g *gallery) byID(id uint32) *draw.Image {
	for _, p := range g.all {
		if p.image != nil && p.image.ID == id {
			return p.image
		}
	}
	return nil
}

// pictureMark begins a line that stands for a row of an image. Text never has it:
// package visible shows it as a character of its own.
const pictureMark = "\x00"

// takePictures replaces the lines that stand for images. An image of which a part is
// not on the screen is not shown.
func (s *screen) takePictures(lines []string) (placed []draw.Placed) {
	for y, l := range lines {
		if !strings.HasPrefix(l, pictureMark) {
			continue
		}
		lines[y] = ""
		var id uint32
		var row, indent int
		if fmt.Sscanf(l[1:], "%d %d %d", &id, &row, &indent); row != 0 {
			continue
		}
		img := s.theme.pictures.byID(id)
		if img == nil || y+img.Rows > len(lines) {
			continue
		}
		whole := true
		for i := 1; i < img.Rows; i++ {
			whole = whole && lines[y+i] == fmt.Sprintf("%s%d %d %d", pictureMark, id, i, indent)
		}
		if whole {
			placed = append(placed, draw.Placed{Image: img, X: indent, Y: y})
		}
	}
	return placed
}

// A pictured block may show images.
type pictured interface{ pictures() []pictureSource }

// restage lays out the blocks with images again.
func (s *screen) restage() {
	for _, e := range s.talked.all {
		if p, ok := e.block.(pictured); ok && len(p.pictures()) > 0 {
			e.width = 0
		}
	}
}

func (c *card) pictures() (all []pictureSource) {
	if c.call.Result == nil {
		return nil
	}
	for _, one := range c.call.Result.Content {
		switch one := one.(type) {
		case *mcp.ImageContent:
			all = append(all, pictureSource{data: one.Data})
		case *mcp.EmbeddedResource:
			if strings.HasPrefix(one.Resource.MIMEType, "image/") {
				all = append(all, pictureSource{data: one.Resource.Blob})
			}
		}
	}
	return all
}

// pictures returns the images that a message attaches: files of this machine, and
// those of a saved message.
func (b userMessage) pictures() (all []pictureSource) {
	for _, data := range b.images {
		all = append(all, pictureSource{data: data})
	}
	if len(all) > 0 || !strings.Contains(b.text, "@") {
		return all
	}
	words, err := args.Split(b.text)
	if err != nil {
		words = strings.Fields(b.text)
	}
	for _, w := range words {
		file, ok := strings.CutPrefix(w, "@")
		if ok && isImageFile(strings.Trim(file, `"`)) {
			all = append(all, pictureSource{file: strings.Trim(file, `"`)})
		}
	}
	return all
}

// askGraphics asks the terminal what images it shows. A multiplexer takes the
// question of kitty's protocol for a title, and some terminals print it.
func askGraphics(env func(string) string) string {
	const cellSize, attributes = "\x1b[16t", "\x1b[c"
	kitty := "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
	if inMultiplexer(env) || env("TERM_PROGRAM") == "Apple_Terminal" || env("TERM") == "linux" {
		kitty = ""
	}
	return cellSize + kitty + attributes // the answer to the last says that the others do not come any more
}

func inMultiplexer(env func(string) string) bool {
	term := env("TERM")
	return env("TMUX") != "" || env("STY") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux")
}

// graphicsOf decides by the attributes that a terminal says to have, and whether it
// has answered the question of kitty's protocol.
func graphicsOf(attributes []int, kitty bool, env func(string) string) draw.Graphics {
	switch {
	case kitty:
		return draw.Kitty
	case !inMultiplexer(env) && (env("TERM_PROGRAM") == "iTerm.app" || env("TERM_PROGRAM") == "WezTerm" || env("LC_TERMINAL") == "iTerm2"):
		return draw.ITerm
	case slices.Contains(attributes, 4):
		return draw.Sixel
	}
	return draw.NoGraphics
}

// answered handles the answers to askGraphics.
func (d *drawn) answered(msg tea.Msg) {
	g := d.theme.pictures
	switch m := msg.(type) {
	case uv.KittyGraphicsEvent:
		d.kitty = d.kitty || m.Options.ID == 31 && string(m.Payload) == "OK"
	case uv.CellSizeEvent:
		if m.Width > 0 && m.Height > 0 && m.Width <= 100 && m.Height <= 200 {
			g.cell = image.Pt(m.Width, m.Height)
		}
	case uv.PrimaryDeviceAttributesEvent:
		g.graphics = graphicsOf(m, d.kitty, os.Getenv)
		d.out.SetGraphics(g.graphics)
		d.restage()
	case pictureMsg:
		if p := g.all[m.key]; p != nil {
			p.image = m.image
			d.restage()
		}
	}
}
