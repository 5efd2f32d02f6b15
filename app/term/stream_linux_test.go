package term

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/app/llm/openai"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// BenchmarkStream measures what a model that writes 1,000 words a second for 2
// seconds costs: the processor's time, with that of the provider in the same process,
// and the bytes written to the terminal.
func BenchmarkStream(b *testing.B) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		clock := time.NewTicker(time.Millisecond)
		defer clock.Stop()
		for i := range 2000 {
			<-clock.C
			word := fmt.Sprintf("word%d ", i)
			if i%60 == 59 {
				word = "end.\\n\\n"
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"%s\"}}]}\n\n", word)
			http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" over-and-out\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	keys, tty := ptytest.Open(b, 40, 120)
	defer keys.Close()
	defer tty.Close()
	var total atomic.Int64
	ends, shows := make(chan struct{}, 99), make(chan struct{}, 99)
	go func() { // ends when the terminal is closed
		p := make([]byte, 64<<10)
		for {
			k, err := keys.Read(p)
			if err != nil {
				return
			}
			total.Add(int64(k))
			if strings.Contains(string(p[:k]), "/help") {
				shows <- struct{}{}
			}
			if strings.Contains(string(p[:k]), "over-and-out") {
				ends <- struct{}{}
			}
		}
	}()
	feed := NewFeed()
	model := openai.New("m", &openai.Options{BaseURL: provider.URL, Key: "k", API: openai.Chat})
	w, err := workspace.Open(workspace.Options{Dir: b.TempDir(), Model: model, Event: feed.Event, State: feed.State})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, w, Options{Feed: feed, Theme: "dark", In: tty, Out: tty}) }()
	<-shows
	used := func() time.Duration {
		var u unix.Rusage
		unix.Getrusage(unix.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var cpu time.Duration
	total.Store(0)
	for b.Loop() {
		began := used()
		fmt.Fprint(keys, "go\r")
		<-ends
		cpu += used() - began
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "ms-cpu")
	b.ReportMetric(float64(total.Load())/float64(b.N)/1000, "kB")
	stop()
	<-ended
}
