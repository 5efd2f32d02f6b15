package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Addition is what the user typed or pasted to add a server: JSON of a
// configuration, a server.json, a URL, or a command.
type Addition struct {
	Text   string            `json:"text"`
	Server string            `json:"server,omitzero"` // which one, if the text has several
	Name   string            `json:"name,omitzero"`   // the name to add it under; empty means a suggestion
	Option string            `json:"option,omitzero"` // how to use a server.json: "package 1" or "remote 1"
	Inputs map[string]string `json:"inputs,omitzero"` // values that a server.json asks for
}

// A Proposal is a server that would be added: exactly what would be written and
// run, without secrets.
type Proposal struct {
	Server   string   `json:"server"` // its name in the text
	Name     string   `json:"name"`   // the name that it would get
	Kind     string   `json:"kind"`
	About    string   `json:"about,omitzero"`
	Runs     string   `json:"runs"`   // the command line or the address
	Writes   string   `json:"writes"` // the entry, as JSON
	File     string   `json:"file"`   // that it would be written to
	Options  []string `json:"options,omitzero"`
	Option   string   `json:"option,omitzero"` // the chosen one
	Inputs   []Input  `json:"inputs,omitzero"`
	Secrets  []string `json:"secrets,omitzero"` // what would be stored in the keyring
	Warnings []string `json:"warnings,omitzero"`
	Refused  string   `json:"refused,omitzero"` // why it cannot be added, and what to do
	Pin      string   `json:"pin,omitzero"`     // a digest of what would be added
}

// An Input is a value that the user provides for a server.
type Input struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitzero"`
	Default     string   `json:"default,omitzero"`
	Choices     []string `json:"choices,omitzero"`
	Required    bool     `json:"required,omitzero"`
	Secret      bool     `json:"secret,omitzero"`
}

// A Provider is a provider of models that can be connected.
type Provider struct {
	Name     string `json:"name"`
	URL      string `json:"url"`               // its default address
	Key      bool   `json:"key,omitzero"`      // it needs a key
	Found    string `json:"found,omitzero"`    // where a key was found, or that it runs
	Variable string `json:"variable,omitzero"` // the environment variable for the key
}

// A Connection is what the user entered to connect a model. The key is passed on
// and never sent to a page.
type Connection struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
	URL      string `json:"url,omitzero"`
	Model    string `json:"model,omitzero"` // empty means the provider's default
}

const maxPaste = 1 << 20

// preview returns what would be added. It changes nothing.
func (s *Server) preview(r *http.Request) (any, error) {
	q, err := s.addition(r)
	if err != nil {
		return nil, err
	}
	found, err := s.opts.Propose(r.Context(), q.Addition)
	if err != nil {
		return nil, fault{http.StatusBadRequest, err}
	}
	raw, err := mcp.Marshal(map[string]any{"servers": found})
	return json.RawMessage(s.work.Secrets().KnownJSON(raw)), err // by name, "pin" would be a secret
}

// add adds and starts a server that the user has seen: the pin is of exactly what
// is written and run.
func (s *Server) add(r *http.Request) (any, error) {
	q, err := s.addition(r)
	if err != nil {
		return nil, err
	}
	if q.Pin == "" {
		return nil, bad("required: the pin of the preview")
	}
	name, err := s.opts.Add(r.Context(), q.Addition, q.Pin)
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return map[string]string{"name": name}, nil
}

type pinnedAddition struct {
	Addition
	Pin string `json:"pin"`
}

func (s *Server) addition(r *http.Request) (q pinnedAddition, err error) {
	if s.opts.Propose == nil || s.opts.Add == nil {
		return q, missing("servers cannot be added on this page: use tenon config add")
	}
	if err := body(r, &q); err != nil {
		return q, err
	}
	switch {
	case strings.TrimSpace(q.Text) == "":
		return q, bad("paste the configuration of a server, a URL or a command")
	case len(q.Text) > maxPaste:
		return q, bad("the text is larger than 1 MiB")
	}
	return q, nil
}

// providers lists the providers of models.
func (s *Server) providers(r *http.Request) (any, error) {
	all := []Provider{}
	if s.opts.Providers != nil {
		all = append(all, s.opts.Providers(r.Context())...)
	}
	return map[string]any{"providers": all}, nil
}

// connectModel connects a model with a key. Nothing that is returned has the key:
// it is a secret from the moment on at which it arrives.
func (s *Server) connectModel(r *http.Request) (any, error) {
	if s.opts.Connect == nil {
		return nil, missing("a model cannot be connected on this page")
	}
	var q Connection
	if err := body(r, &q); err != nil {
		return nil, bad("read the body: it is not the JSON of a connection") // the error may quote the key
	}
	q.Key = strings.TrimSpace(q.Key)
	if q.Provider == "" {
		return nil, bad("choose a provider")
	}
	s.work.Secrets().Add("model "+q.Provider, q.Key)
	m, note, err := s.opts.Connect(r.Context(), q)
	if err != nil {
		return nil, fault{http.StatusBadRequest, cleanError{s.work.Secrets().Text(err.Error())}}
	}
	s.useModel(m)
	return s.clean(map[string]any{"model": m.Info(), "note": note}), nil
}

// useModel makes a model the current one.
func (s *Server) useModel(m llm.Model) {
	s.work.Host.SetModel(m)
	s.feed.put("model", m.Info())
}

// A cleanError is the text of an error without secrets.
type cleanError struct{ text string }

func (e cleanError) Error() string { return e.text }
