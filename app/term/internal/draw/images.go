package draw

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	imagedraw "image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Graphics is a protocol for images in terminals.
type Graphics int

// The protocols.
const (
	NoGraphics Graphics = iota
	Kitty               // that of kitty, Ghostty, WezTerm and Konsole
	ITerm               // that of iTerm2
	Sixel
)

// An Image is an image for one protocol. Its bytes were written by Encode, whatever
// it was made from.
type Image struct {
	ID            uint32 // for the terminal; unique among those that are shown
	Columns, Rows int
	data          string // base64 of a PNG for Kitty, else the sequence
}

// Placed is an image at a place of a frame. The lines below it are empty.
type Placed struct {
	Image *Image
	X, Y  int
}

// The bounds of what Decode accepts.
const (
	MostBytes  = 20 << 20
	MostPixels = 25_000_000
)

// Decode decodes a PNG, JPEG or GIF that may come from anywhere. It decodes nothing
// that has more than MostBytes or MostPixels.
func Decode(data []byte) (image.Image, error) {
	if len(data) > MostBytes {
		return nil, fmt.Errorf("the image has %d bytes, more than %d", len(data), MostBytes)
	}
	// The formats are named here, not registered: a program may have registered others.
	decoders := []struct {
		magic  string
		config func(r *bytes.Reader) (image.Config, error)
		decode func(r *bytes.Reader) (image.Image, error)
	}{
		{"\x89PNG\r\n\x1a\n", func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) }},
		{"\xff\xd8", func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) }},
		{"GIF8", func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) }},
	}
	for _, d := range decoders {
		if !bytes.HasPrefix(data, []byte(d.magic)) {
			continue
		}
		c, err := d.config(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if c.Width < 1 || c.Height < 1 || c.Width > MostPixels || c.Height > MostPixels/c.Width {
			return nil, fmt.Errorf("the image has %d × %d pixels, more than %d", c.Width, c.Height, MostPixels)
		}
		return d.decode(bytes.NewReader(data))
	}
	return nil, errors.New("not a PNG, JPEG or GIF")
}

// Encode makes an image of at most columns and rows, which are cells of so many
// pixels. A small image is not enlarged.
func Encode(img image.Image, g Graphics, id uint32, columns, rows int, cell image.Point) (*Image, error) {
	size := img.Bounds().Size()
	if size.X < 1 || size.Y < 1 || columns < 1 || rows < 1 || cell.X < 1 || cell.Y < 1 {
		return nil, errors.New("no room for the image")
	}
	w, h := size.X, size.Y
	if most := columns * cell.X; w > most {
		w, h = most, max(1, h*most/w)
	}
	if most := rows * cell.Y; h > most {
		w, h = max(1, w*most/h), most
	}
	small := scaled(img, w, h)
	out := &Image{ID: id, Columns: (w + cell.X - 1) / cell.X, Rows: (h + cell.Y - 1) / cell.Y}
	if g == Sixel {
		out.data = sixel(small)
		return out, nil
	}
	// The cells are filled, so that the terminal does not stretch the image.
	whole := image.NewNRGBA(image.Rect(0, 0, out.Columns*cell.X, out.Rows*cell.Y))
	imagedraw.Draw(whole, small.Bounds(), small, image.Point{}, imagedraw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, whole); err != nil {
		return nil, err
	}
	out.data = base64.StdEncoding.EncodeToString(b.Bytes())
	if g == ITerm {
		out.data = fmt.Sprintf("\x1b]1337;File=inline=1;size=%d;width=%d;height=%d;preserveAspectRatio=0;doNotMoveCursor=1:%s\a", b.Len(), out.Columns, out.Rows, out.data)
	}
	return out, nil
}

// scaled returns the image with another size; a pixel is the mean of at most 16.
func scaled(img image.Image, w, h int) *image.NRGBA {
	at := func(x, y int) color.RGBA64 {
		return color.RGBA64Model.Convert(img.At(x, y)).(color.RGBA64)
	}
	if fast, ok := img.(image.RGBA64Image); ok {
		at = fast.RGBA64At
	}
	from := img.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			var r, g, b, a, n uint32
			for i := range 4 {
				for j := range 4 {
					c := at(from.Min.X+(4*x+i)*from.Dx()/(4*w), from.Min.Y+(4*y+j)*from.Dy()/(4*h))
					r, g, b, a, n = r+uint32(c.R), g+uint32(c.G), b+uint32(c.B), a+uint32(c.A), n+1
				}
			}
			out.Set(x, y, color.RGBA64{uint16(r / n), uint16(g / n), uint16(b / n), uint16(a / n)})
		}
	}
	return out
}

// sixel returns an image as sixels with 216 colors; what is more than half
// transparent stays so.
func sixel(img *image.NRGBA) string {
	size := img.Bounds().Size()
	paletted := image.NewPaletted(img.Bounds(), palette.WebSafe)
	imagedraw.FloydSteinberg.Draw(paletted, img.Bounds(), img, image.Point{})
	var b strings.Builder
	fmt.Fprintf(&b, "\x1bP0;1q\"1;1;%d;%d", size.X, size.Y)
	for i, c := range palette.WebSafe {
		r, g, bl, _ := c.RGBA()
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, r*100/0xffff, g*100/0xffff, bl*100/0xffff)
	}
	for top := 0; top < size.Y; top += 6 {
		bits := map[uint8][]byte{} // by color
		for y := top; y < min(top+6, size.Y); y++ {
			for x := range size.X {
				if img.NRGBAAt(x, y).A < 128 {
					continue
				}
				i := paletted.ColorIndexAt(x, y)
				if bits[i] == nil {
					bits[i] = make([]byte, size.X)
				}
				bits[i][x] |= 1 << (y - top)
			}
		}
		var colors []uint8
		for i := range bits {
			colors = append(colors, i)
		}
		slices.Sort(colors)
		for n, i := range colors {
			if n > 0 {
				b.WriteByte('$')
			}
			fmt.Fprintf(&b, "#%d", i)
			row := bits[i]
			for x := 0; x < len(row); {
				end := x
				for end < len(row) && row[end] == row[x] {
					end++
				}
				if end-x > 3 {
					b.WriteString("!" + strconv.Itoa(end-x) + string('?'+rune(row[x])))
				} else {
					b.WriteString(strings.Repeat(string('?'+rune(row[x])), end-x))
				}
				x = end
			}
		}
		b.WriteByte('-')
	}
	b.WriteString("\x1b\\")
	return b.String()
}

// The sequences of kitty's protocol. None is answered.
const (
	kittyHide   = "\x1b_Ga=d,d=a,q=2\x1b\\" // all that is shown
	kittyForget = "\x1b_Ga=d,d=A,q=2\x1b\\" // and what was sent
	kittyChunk  = 4096
)

// settles is how long an image must stay at its place before it is drawn by a
// protocol that sends all of it each time.
const settles = 150 * time.Millisecond

// SetGraphics sets the protocol for images.
func (t *Terminal) SetGraphics(g Graphics) {
	t.mu.Lock()
	t.graphics = g
	t.mu.Unlock()
	t.stir()
}

// places returns the images to show now, and after which time more of them can be.
func (t *Terminal) places(f Frame, g Graphics, before state) (now []Placed, later time.Duration) {
	if g == NoGraphics {
		return nil, 0
	}
	if !slices.Equal(f.Images, t.still) {
		t.still, t.since = f.Images, time.Now()
	}
	if g == Kitty {
		return f.Images, 0
	}
	if later = settles - time.Since(t.since); later <= 0 {
		return f.Images, 0
	}
	for _, p := range f.Images {
		if slices.Contains(before.images, p) {
			now = append(now, p)
		}
	}
	return now, later
}

// hide writes what takes images away, and returns the lines before without what they
// covered, which must be written again.
func (t *Terminal) hide(w *bytes.Buffer, g Graphics, before state, now []Placed) []string {
	if slices.Equal(before.images, now) && before.known {
		return before.lines
	}
	if g == Kitty {
		if len(t.sent) > 0 {
			w.WriteString(kittyHide)
		}
		return before.lines
	}
	lines := slices.Clone(before.lines)
	for _, p := range before.images {
		if slices.Contains(now, p) {
			continue
		}
		for y := p.Y; y < min(p.Y+p.Image.Rows, len(lines)); y++ {
			lines[y] = "\x00" // equal to no line
		}
	}
	return lines
}

// place writes the images that are not shown yet.
func (t *Terminal) place(w *bytes.Buffer, g Graphics, before state, now []Placed) {
	if slices.Equal(before.images, now) && before.known {
		return
	}
	for i, p := range now {
		if g != Kitty {
			if !slices.Contains(before.images, p) {
				moveTo(w, p.X, p.Y)
				w.WriteString(p.Image.data)
			}
			continue
		}
		if !t.sent[p.Image.ID] {
			t.sent[p.Image.ID] = true
			kittySend(w, p.Image)
		}
		moveTo(w, p.X, p.Y)
		fmt.Fprintf(w, "\x1b_Ga=p,i=%d,p=%d,c=%d,r=%d,C=1,q=2\x1b\\", p.Image.ID, i+1, p.Image.Columns, p.Image.Rows)
	}
}

// kittySend writes the bytes of an image in pieces.
func kittySend(w *bytes.Buffer, img *Image) {
	head := fmt.Sprintf("a=t,f=100,i=%d,q=2,", img.ID)
	for rest := img.data; ; head = "" {
		n := min(len(rest), kittyChunk)
		more := 0
		if n < len(rest) {
			more = 1
		}
		fmt.Fprintf(w, "\x1b_G%sm=%d;%s\x1b\\", head, more, rest[:n])
		if rest = rest[n:]; more == 0 {
			return
		}
	}
}
