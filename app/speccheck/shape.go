package speccheck

import (
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// maxFaults is the maximum number of problems that CheckShape reports.
const maxFaults = 50

// CheckShape returns the problems of a message's members: those that are missing,
// of the wrong type, or of another revision.
func CheckShape(m *Message) (found []Problem) {
	if !m.Kind.IsJSON() || m.Revision == "" || len(m.Frame) != m.Size {
		return nil
	}
	letter := letterOf(m.Revision)
	w := &walker{letter: letter, extras: true}
	w.bad = func(rule, pointer, text string) {
		if r, _ := RuleFor(rule); len(found) < maxFaults && r.in.has(letter) {
			found = append(found, problem(rule, pointer, text))
		}
	}
	eachPart(m, func(j *jsonrpc.Message, pointer string) {
		method := j.Method
		if method == "" && pointer == "" {
			method = m.Method
		}
		w.message(j, method, pointer)
	})
	return found
}

// eachPart calls part with the message, or with each message of a batch and its
// JSON pointer.
func eachPart(m *Message, part func(j *jsonrpc.Message, pointer string)) {
	r := ParseFrame(m.Frame)
	if r.Err != nil {
		return
	}
	if r.Batch == nil {
		part(&r.Message, "")
	}
	for i := range r.Batch {
		if r.Batch[i].Err == nil {
			part(&r.Batch[i].Message, "/"+strconv.Itoa(i))
		}
	}
}

// message walks the parts of a message that have a form. Method is that of the
// request, also for a response; it may be empty.
func (w *walker) message(j *jsonrpc.Message, method, pointer string) {
	if j.Error != nil {
		w.failure(j.Error, pointer+"/error")
		return
	}
	known := table().methods[method]
	if known == nil {
		w.unknownMember(j, pointer)
		return
	}
	way := known.at(w.letter)
	switch {
	case way == nil:
	case j.Method == "" && way.result != "":
		w.result(way, j.Result, pointer+"/result")
	case j.Method != "" && j.Params != nil:
		w.value(kind{base: way.params}, j.Params, pointer+"/params")
	case j.Method != "" && (way.needsParams || w.letter >= newest.from && known.request):
		w.fault(ruleRequired, pointer, "the member \"params\" is missing")
	}
}

// unknownMember walks the members that all methods share, for an unknown method.
func (w *walker) unknownMember(j *jsonrpc.Message, pointer string) {
	switch {
	case j.Params != nil && j.ID != nil:
		w.value(kind{base: "RequestParams"}, j.Params, pointer+"/params")
	case j.Params != nil:
		w.value(kind{base: "NoteParams"}, j.Params, pointer+"/params")
	case j.Result != nil:
		w.value(kind{base: "Result"}, j.Result, pointer+"/result")
	}
}

func (w *walker) result(way *way, result []byte, pointer string) {
	form := way.result
	if newest.has(w.letter) {
		switch kind, _ := rawjson.String(rawjson.Lookup(result, "resultType")); kind {
		case "", "complete", "input_required":
		case "task":
			form = "AnyResult" // defined by an extension
		default:
			w.fault(ruleResultType, pointer+"/resultType", "a client must not use a result of the type "+quote(kind))
		}
	}
	w.value(kind{base: form}, result, pointer)
}

// failures are errors whose data has a form.
var failures = map[int]string{
	-32042: "URLNeededError",
	-32021: "CapabilityError",
	-32022: "VersionError",
}

func (w *walker) failure(e *jsonrpc.Error, pointer string) {
	raw := append([]byte(`{"code":`), strconv.Itoa(e.Code)...)
	raw = append(raw, `,"message":""`...)
	if e.Data != nil {
		raw = append(append(raw, `,"data":`...), e.Data...)
	}
	raw = append(raw, '}')
	form := "Error"
	if special := table().forms[failures[e.Code]]; special != nil && special.members[0].in.has(w.letter) {
		form = special.name
	}
	w.value(kind{base: form}, raw, pointer)
}
