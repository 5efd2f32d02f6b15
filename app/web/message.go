package web

import (
	"net/http"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

// An messageDetail is a message with all explanations.
type messageDetail struct {
	Summary  summary   `json:"summary"`
	Frame    string    `json:"frame"`
	Describe string    `json:"describe,omitzero"` // the purpose of the method
	Fields   []field   `json:"fields"`
	Problems []problem `json:"problems"`
	HTTP     *exchange `json:"http,omitzero"`
	Raw      string    `json:"raw,omitzero"`  // a tenon command that sends it again
	Curl     string    `json:"curl,omitzero"` // a curl command, if there is a URL
}

type field struct {
	Pointer   string         `json:"pointer"`
	Text      string         `json:"text,omitzero"`
	Type      string         `json:"type,omitzero"`
	Required  bool           `json:"required,omitzero"`
	Known     bool           `json:"known,omitzero"`
	Revisions []mcp.Revision `json:"revisions,omitzero"`
}

type problem struct {
	Rule     string             `json:"rule"`
	Text     string             `json:"text"`
	Pointer  string             `json:"pointer"`
	Severity speccheck.Severity `json:"severity"`
	Sentence string             `json:"sentence,omitzero"` // the requirement
	Page     string             `json:"page,omitzero"`     // of the specification
}

type exchange struct {
	Method   string       `json:"method"`
	URL      string       `json:"url"`
	Status   int          `json:"status,omitzero"`
	Request  []headerLine `json:"request"`
	Response []headerLine `json:"response"`
	Error    string       `json:"error,omitzero"`
}

type headerLine struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxExplained is the largest frame whose members are explained. An explanation is
// larger than its frame.
const maxExplained = 256 << 10

func (s *Server) message(r *http.Request) (any, error) {
	m, err := s.one(r.PathValue("seq"))
	if err != nil {
		return nil, err
	}
	out := messageDetail{
		Summary: summaries([]speccheck.Message{m})[0], Frame: string(m.Frame), Describe: speccheck.Describe(m.Method, m.Revision),
		Fields: []field{}, Problems: problems(m), HTTP: exchangeOf(m.HTTP), Raw: wirelog.Raw(m),
	}
	if len(m.Frame) <= maxExplained {
		for _, f := range speccheck.Explain(m) {
			out.Fields = append(out.Fields, field(f))
		}
	}
	if one := s.work.Fleet.Get(m.Server); one != nil && one.Entry().URL != "" {
		out.Curl = wirelog.Curl(m, s.work.Secrets().URL(one.Entry().URL))
	}
	return out, nil
}

func problems(m speccheck.Message) []problem {
	all := []problem{}
	for _, p := range m.Problems {
		one := problem{Rule: p.Rule, Text: p.Text, Pointer: p.Pointer, Severity: p.Severity}
		if rule, ok := speccheck.RuleFor(p.Rule); ok {
			one.Sentence, one.Page = rule.Text, rule.Page(m.Revision)
		}
		all = append(all, one)
	}
	return all
}

func exchangeOf(h *speccheck.HTTP) *exchange {
	if h == nil {
		return nil
	}
	lines := func(list []speccheck.Header) []headerLine {
		all := []headerLine{}
		for _, l := range list {
			all = append(all, headerLine(l))
		}
		return all
	}
	return &exchange{h.Method, h.URL, h.Status, lines(h.Request), lines(h.Response), h.Error}
}
