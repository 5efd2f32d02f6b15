package llm

import "context"

// An Answer is a whole answer.
type Answer struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// Ask sends a request and waits for the whole answer. With an error comes what
// there was of the answer.
func Ask(ctx context.Context, m Model, r *Request) (Answer, error) {
	var b Builder
	var a Answer
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			a.Message = b.Message()
			return a, err
		}
		b.Add(e)
		switch e.Kind {
		case EventUsage:
			a.Usage = e.Usage
		case EventDone:
			a.Stop, a.Usage, a.Message = e.Stop, e.Usage, b.Message()
			if e.Message != nil {
				a.Message = *e.Message
			}
		}
	}
	return a, nil
}
