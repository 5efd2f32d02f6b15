package page

import (
	"testing"
	"time"
)

// The page is painted soon after its address is opened. Under load that is judged
// by how long its thread runs until then; -bars judges the clock.
func TestFirstPaint(t *testing.T) {
	h := build(t, plan{servers: samples(t)})
	h.ready(t, "calc", "files", "notes", "shop")
	const painted = `new Promise((done) => new PerformanceObserver((l) => { for (const e of l.getEntriesByName('first-contentful-paint')) done(e.startTime); }).observe({type: 'paint', buffered: true}))`
	quickest, most := time.Hour, time.Duration(0)
	for range 3 {
		p := newTab(t, browser, desk)
		all := p.spans(func() {
			p.navigate(h.visit())
			quickest = min(quickest, time.Duration(eval[float64](p, painted)*1e6))
		})
		paint := 0.0
		for _, s := range all {
			if s.Name == "firstContentfulPaint" {
				paint = s.At
			}
		}
		cpu := time.Duration(0)
		for _, k := range longest(all) {
			if k.At < paint {
				cpu += k.CPU
			}
		}
		if cpu == 0 {
			t.Fatal("the trace has no first paint")
		}
		most = max(most, cpu)
	}
	t.Logf("first paint after %v, of which the page's thread runs for %v", quickest, most)
	figure("%-44s %.0f ms, of which the page's thread runs for %.0f (at most %v)", "first paint", ms(quickest), ms(most), firstPaint)
	if most > allowed(firstPaint) || *bars && quickest > firstPaint {
		t.Errorf("first paint after %v, of which the page's thread runs for %v", quickest, most)
	}
}
