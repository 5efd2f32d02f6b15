package web

import "sync"

// A frameList collects the frames of one connection.
type frameList struct {
	mu     sync.Mutex
	frames []eraFrame
}

func (l *frameList) see(sent bool, frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frames) < 200 {
		l.frames = append(l.frames, eraFrame{sent, string(frame)})
	}
}

func (l *frameList) all() []eraFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]eraFrame{}, l.frames...)
}
