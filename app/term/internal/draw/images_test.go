package draw

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flag returns an image of two colors, the left half and the right.
func flag(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{0xff, 0, 0, 0xff}
			if x >= w/2 {
				c = color.NRGBA{0, 0x99, 0xff, 0xff}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An image of many pixels is refused by its header, before they are decoded; so is
// what is no image.
func TestDecodeBounds(t *testing.T) {
	huge := pngOf(t, flag(4, 4))
	binary.BigEndian.PutUint32(huge[16:], 100_000)
	binary.BigEndian.PutUint32(huge[20:], 100_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	for name, data := range map[string][]byte{
		"pixels":   huge,
		"bytes":    append(pngOf(t, flag(4, 4)), make([]byte, MostBytes)...),
		"text":     []byte("<svg onload=alert(1)>"),
		"empty":    nil,
		"cut":      pngOf(t, flag(40, 40))[:60],
		"sequence": []byte("\x1b_Ga=d\x1b\\"),
	} {
		if img, err := Decode(data); err == nil {
			t.Errorf("%s: %v", name, img.Bounds())
		} else if name == "pixels" && !strings.Contains(err.Error(), "pixels") {
			t.Errorf("it was not refused for its size: %v", err)
		}
	}
	var j, g bytes.Buffer
	jpeg.Encode(&j, flag(8, 8), nil)
	gif.Encode(&g, flag(8, 8), nil)
	for name, data := range map[string][]byte{"png": pngOf(t, flag(8, 8)), "jpeg": j.Bytes(), "gif": g.Bytes()} {
		if img, err := Decode(data); err != nil || img.Bounds().Dx() != 8 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Images are made smaller until they fit, keep their proportions and are never
// enlarged.
func TestImagesFit(t *testing.T) {
	for _, c := range []struct{ w, h, columns, rows int }{
		{1000, 1000, 32, 16}, {4000, 100, 60, 1}, {100, 4000, 1, 16}, {15, 25, 2, 2}, {1, 1, 1, 1},
	} {
		for _, g := range []Graphics{Kitty, ITerm, Sixel} {
			img, err := Encode(flag(c.w, c.h), g, 1, 60, 16, image.Pt(10, 20))
			if err != nil || img.Columns != c.columns || img.Rows != c.rows {
				t.Errorf("%d × %d pixels have %+v cells, not %+v: %v", c.w, c.h, img, c, err)
			}
		}
	}
}

// Only what was encoded here reaches the terminal, not the bytes of the image.
func TestImagesAreEncodedAnew(t *testing.T) {
	data := append(pngOf(t, flag(20, 20)), "\x1b]52;c;c3RvbGVu\a tail"...)
	img, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []Graphics{Kitty, ITerm, Sixel} {
		out, err := Encode(img, g, 1, 60, 16, image.Pt(10, 20))
		if err != nil {
			t.Fatal(err)
		}
		body := out.data
		if g == ITerm {
			body = strings.TrimSuffix(body[strings.Index(body, ":")+1:], "\a")
		}
		if g == Sixel {
			if strings.Contains(body[2:len(body)-2], "\x1b") {
				t.Errorf("%q", body)
			}
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil || bytes.Contains(raw, []byte("stolen")) || bytes.Contains(raw, []byte("]52")) || !bytes.HasSuffix(raw, []byte("IEND\xaeB`\x82")) {
			t.Errorf("%d: %v %q", g, err, raw)
		}
	}
}

// Sixels have the colors of the image at its places.
func TestSixels(t *testing.T) {
	text := sixel(flag(20, 14))
	text, ok := strings.CutPrefix(text, "\x1bP0;1q\"1;1;20;14")
	if !ok || !strings.HasSuffix(text, "-\x1b\\") {
		t.Fatalf("%q", text)
	}
	colors := map[string]string{}
	for _, m := range regexp.MustCompile(`#(\d+);2;(\d+;\d+;\d+)`).FindAllStringSubmatch(text, -1) {
		colors[m[1]] = m[2]
	}
	text = regexp.MustCompile(`#\d+;2;\d+;\d+;\d+`).ReplaceAllString(strings.TrimSuffix(text, "\x1b\\"), "")
	seen := map[image.Point]string{}
	x, top, current, times := 0, 0, "", 1
	for _, m := range regexp.MustCompile(`#(\d+)|!(\d+)|[$-]|[?-~]`).FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			current = colors[m[1]]
		case m[2] != "":
			times, _ = strconv.Atoi(m[2])
		case m[0] == "$":
			x = 0
		case m[0] == "-":
			x, top = 0, top+6
		default:
			for ; times > 0; times-- {
				for i := range 6 {
					if (m[0][0]-'?')&(1<<i) != 0 {
						seen[image.Pt(x, top+i)] = current
					}
				}
				x++
			}
			times = 1
		}
	}
	if len(seen) != 20*14 || seen[image.Pt(0, 0)] != "100;0;0" || seen[image.Pt(9, 13)] != "100;0;0" || seen[image.Pt(10, 13)] != "0;60;100" {
		t.Errorf("%d pixels: %v", len(seen), seen)
	}
}

// With kitty's protocol an image is sent once, moves with its place, and goes with
// it.
func TestKittyImages(t *testing.T) {
	r := &record{}
	term := bare(r, true)
	term.SetGraphics(Kitty)
	img, err := Encode(flag(400, 200), Kitty, 77, 40, 10, image.Pt(10, 20))
	if err != nil {
		t.Fatal(err)
	}
	last := func(f Frame) string {
		term.Show(f)
		term.draw()
		return r.writes[len(r.writes)-1]
	}
	f := Frame{Width: 80, Height: 24, X: -1, Lines: []string{"text"}, Images: []Placed{{img, 2, 1}}}
	if w := last(f); !strings.Contains(w, "a=t,f=100,i=77") || !strings.Contains(w, "\x1b[2;3H\x1b_Ga=p,i=77,p=1,c=40,r=10,C=1,q=2\x1b\\") {
		t.Errorf("%q", w)
	}
	f.Images = []Placed{{img, 2, 4}}
	if w := last(f); strings.Contains(w, "a=t") || !strings.Contains(w, kittyHide) || !strings.Contains(w, "\x1b[5;3H\x1b_Ga=p,i=77") {
		t.Errorf("it moves with %q", w)
	}
	f.Lines = []string{"other text"}
	if w := last(f); strings.Contains(w, "\x1b_G") {
		t.Errorf("it stays with %q", w)
	}
	f.Images = nil
	if w := last(f); !strings.Contains(w, kittyHide) || strings.Contains(w, "a=p") {
		t.Errorf("it goes with %q", w)
	}
	term.Writer().Write([]byte(mainScreen))
	if all := strings.Join(r.writes, ""); !strings.Contains(all, kittyForget) || strings.Index(all, kittyForget) > strings.Index(all, mainScreen) {
		t.Error("the terminal keeps the image")
	}
}

// With the other protocols an image is drawn when it stays at its place, and the
// lines that it covered are written again when it goes.
func TestImagesThatAreSentEachTime(t *testing.T) {
	for _, g := range []Graphics{ITerm, Sixel} {
		r := &record{}
		term := bare(r, true)
		term.SetGraphics(g)
		img, err := Encode(flag(100, 60), g, 1, 40, 10, image.Pt(10, 20))
		if err != nil {
			t.Fatal(err)
		}
		f := Frame{Width: 80, Height: 8, X: -1, Lines: []string{"text", "", "", "", "below"}, Images: []Placed{{img, 2, 1}}}
		term.Show(f)
		if _, later := term.draw(); later <= 0 || strings.Contains(strings.Join(r.writes, ""), img.data) {
			t.Errorf("%d: it is drawn before it stays", g)
		}
		term.since = time.Now().Add(-settles)
		if _, later := term.draw(); later != 0 || !strings.Contains(r.writes[len(r.writes)-1], "\x1b[2;3H"+img.data) {
			t.Errorf("%d: it is not drawn", g)
		}
		n := len(r.writes)
		term.draw()
		if len(r.writes) != n {
			t.Errorf("%d: it is drawn again", g)
		}
		f.Images = nil
		term.Show(f)
		term.draw()
		if w := r.writes[len(r.writes)-1]; !strings.Contains(w, "\x1b[2H\x1b[K\x1b[3H\x1b[K\x1b[4H\x1b[K") || strings.Contains(w, "below") {
			t.Errorf("%d: it goes with %q", g, w)
		}
	}
}

// Without a protocol nothing of an image is written.
func TestNoGraphics(t *testing.T) {
	r := &record{}
	term := bare(r, true)
	img, _ := Encode(flag(100, 60), Kitty, 1, 40, 10, image.Pt(10, 20))
	term.Show(Frame{Width: 80, Height: 8, X: -1, Images: []Placed{{img, 2, 1}}})
	term.draw()
	if all := strings.Join(r.writes, ""); strings.Contains(all, "\x1b_") || strings.Contains(all, img.data[:20]) {
		t.Errorf("%q", all)
	}
}
