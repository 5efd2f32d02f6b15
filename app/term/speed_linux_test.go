package term

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm/openai"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// BenchmarkFirstToken measures the time from the first byte of a provider's answer
// to its first word on a real terminal, and, interleaved with it, the time that the
// same bytes take to a terminal through a bare HTTP client.
func BenchmarkFirstToken(b *testing.B) {
	sent := make(chan time.Time, 1)
	n := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		time.Sleep(time.Duration(20+n%17) * time.Millisecond) // the time of a picture is not hit always
		n++
		sent <- time.Now()
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"token%dx\"}}]}\n\n", n)
		http.NewResponseController(w).Flush()
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	keys, tty := ptytest.Open(b, 40, 120)
	defer keys.Close()
	defer tty.Close()
	shown := make(chan []byte, 1024)
	go func() { // ends when the terminal is closed
		for {
			p := make([]byte, 64<<10)
			k, err := keys.Read(p)
			if err != nil {
				return
			}
			shown <- p[:k]
		}
	}()
	until := func(text string) time.Time {
		var all []byte
		for end := time.After(time.Minute); ; {
			select {
			case p := <-shown:
				if all = append(all, p...); bytes.Contains(all, []byte(text)) {
					return time.Now()
				}
			case <-end:
				b.Fatalf("the terminal never shows %s: %q", text, all)
			}
		}
	}
	feed := NewFeed()
	model := openai.New("m", &openai.Options{BaseURL: provider.URL, Key: "k", API: openai.Chat})
	w, err := workspace.Open(workspace.Options{Dir: b.TempDir(), Model: model, Event: feed.Event, State: feed.State})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, w, Options{Feed: feed, Theme: "plain", In: tty, Out: tty}) }()
	until("/help")
	var chat, bare []time.Duration
	for b.Loop() {
		fmt.Fprint(keys, "go\r")
		began := <-sent
		chat = append(chat, until(fmt.Sprintf("token%dx", n)).Sub(began))
		time.Sleep(20 * time.Millisecond) // the turn ends
		resp, err := http.Post(provider.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			b.Fatal(err)
		}
		began = <-sent
		first := make([]byte, 512)
		k, _ := resp.Body.Read(first)
		fmt.Fprintf(tty, "bare%s", first[:k])
		bare = append(bare, until(fmt.Sprintf("token%dx", n)).Sub(began))
		resp.Body.Close()
	}
	fmt.Fprint(keys, "\x04") // Ctrl-D
	<-ended
	stop()
	at := func(all []time.Duration, part int) float64 {
		slices.Sort(all)
		return float64(all[(len(all)-1)*part/100]) / 1e6
	}
	b.ReportMetric(at(chat, 50), "ms-p50")
	b.ReportMetric(at(chat, 95), "ms-p95")
	b.ReportMetric(at(bare, 50), "ms-bare-p50")
}
