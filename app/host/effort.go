package host

import (
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
)

// SetEffort changes how much the model thinks: one of [config.Efforts]. Running
// requests continue as they are.
func (h *Host) SetEffort(effort string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.effort = effort
}

// Effort returns how much the model thinks.
func (h *Host) Effort() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.effort == "" {
		return config.EffortAuto
	}
	return h.effort
}

// effortOf returns the effort of a request to a model. A model that is not known
// to think is asked to think only if the user has chosen an effort.
func (h *Host) effortOf(info llm.Info) string {
	switch e := h.Effort(); {
	case e == config.EffortAuto && len(info.Efforts) > 0:
		return llm.EffortAuto
	case e == config.EffortNone && len(info.Efforts) > 0:
		return llm.EffortNone
	case e == config.EffortAuto, e == config.EffortNone:
		return ""
	default:
		return e
	}
}
