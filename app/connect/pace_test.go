package connect

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPacerSlowsFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		began := time.Now()
		for range 1000 { // calls with results and notifications
			p.asked()
			for range framesPerCall {
				p.received()
			}
		}
		for range framesPerSecond {
			p.received()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("messages that were asked for, and a few more, took %v", took)
		}
		for range 10 * framesPerSecond {
			p.received()
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("a flood took %v", took)
		}
		p.asked()
		began = time.Now()
		p.received()
		if took := time.Since(began); took != 0 {
			t.Errorf("the next result took %v", took)
		}
	})
}
