package host

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // what DecodeConfig reads
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"slices"

	"github.com/tenon-mcp/tenon/app/llm"
)

// maxMedium is the largest size in bytes of an image or a recording that is sent
// to a model, maxSide the largest width and height in pixels.
const (
	maxMedium = 5 << 20
	maxSide   = 8000
)

// checkImage returns the type of an image, which it detects from its bytes, or
// why a model cannot get it.
func checkImage(data []byte) (mime string, err error) {
	mime = http.DetectContentType(data)
	switch mime {
	case "image/png", "image/jpeg", "image/gif":
		c, _, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			return mime, fmt.Errorf("it is damaged: %w", err)
		}
		if c.Width > maxSide || c.Height > maxSide || c.Width == 0 || c.Height == 0 {
			return mime, fmt.Errorf("it has %d x %d pixels", c.Width, c.Height)
		}
		return mime, nil
	case "image/webp":
		return mime, nil
	}
	return mime, errors.New("it is not a PNG, JPEG, GIF or WebP image")
}

// checkMedium returns the part for the model, or why the model cannot get it.
func checkMedium(p llm.Part) (llm.Part, error) {
	switch {
	case len(p.Data) == 0:
		return p, errors.New("it is empty")
	case len(p.Data) > maxMedium:
		return p, fmt.Errorf("it is larger than %d MiB", maxMedium>>20)
	}
	var err error
	switch p.Kind {
	case llm.PartImage:
		p.MIME, err = checkImage(p.Data)
	case llm.PartDocument:
		if p.MIME == "application/pdf" && !bytes.HasPrefix(p.Data, []byte("%PDF-")) {
			err = errors.New("it is not a PDF document")
		}
	}
	return p, err
}

// describeMedium describes a medium that the model does not get.
func describeMedium(p llm.Part, why error) string {
	return fmt.Sprintf("%s (not given to the model: %v)", llm.Describe(p), why)
}

// mediaRefused reports whether a provider may have refused a request because of
// the images, recordings or documents in it.
func (s *Session) mediaRefused(err error) bool {
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok || refusal.Kind != llm.ErrBadRequest || refusal.Status == http.StatusNotFound {
		return false
	}
	return slices.ContainsFunc(s.Messages(), func(m llm.Message) bool { _, n := mediaInWords(m); return n > 0 })
}

// dropMedia replaces the media of the conversation by descriptions, after a
// provider refused them and answered without.
func (s *Session) dropMedia() {
	total := 0
	s.mu.Lock()
	for _, r := range s.talk.rows {
		if m, n := mediaInWords(r.Message); n > 0 {
			total += n
			s.talk.set(r.Seq, m)
		}
	}
	s.mu.Unlock()
	what := "1 image or document was"
	if total != 1 {
		what = fmt.Sprintf("%d images or documents were", total)
	}
	s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: "The model's provider rejected the conversation. " + what + " removed from it."})
}

func withoutMedia(all []llm.Message) []llm.Message {
	out := slices.Clone(all)
	for i := range out {
		out[i], _ = mediaInWords(out[i])
	}
	return out
}

// mediaInWords returns a message with descriptions instead of media, and their
// number.
func mediaInWords(m llm.Message) (llm.Message, int) {
	parts, n := partsInWords(m.Parts)
	m.Parts = parts
	return m, n
}

func partsInWords(parts []llm.Part) ([]llm.Part, int) {
	n := 0
	out := slices.Clone(parts)
	for i, p := range out {
		switch {
		case p.Kind == llm.PartImage || p.Kind == llm.PartAudio || p.Kind == llm.PartDocument:
			out[i] = llm.Text(describeMedium(p, errors.New("the provider refused it")))
			out[i].CacheMark = p.CacheMark
			n++
		case p.Result != nil:
			r := *p.Result
			inner, k := partsInWords(r.Parts)
			r.Parts = inner
			out[i].Result = &r
			n += k
		}
	}
	return out, n
}
