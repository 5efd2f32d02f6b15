package draft

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
)

// unfit returns why an operation cannot or shall not become a tool, or "".
func (op *operation) unfit(o Options) string {
	media := ""
	if content, _ := op.body["content"].(object); len(content) > 0 {
		media = keys(content)[0]
	}
	switch {
	case op.deprecated:
		return "deprecated"
	case op.method == "HEAD" || op.method == "OPTIONS" || op.method == "TRACE":
		return "its method has no result for a model"
	case strings.HasPrefix(op.path, "x-"):
		return "an extension"
	case o.ReadOnly && op.method != "GET":
		return "changes something, and --read-only is set"
	case len(o.Tags) > 0 && !slices.Contains(o.Tags, op.tag):
		return "has none of the tags of --tag"
	case strings.HasPrefix(media, "application/xml"), strings.HasPrefix(media, "text/xml"):
		return "its body is XML"
	}
	return ""
}

// Words that tell what most users of an API ask for, and what its operators do.
var (
	operators = regexp.MustCompile(`(?i)\b(admin|audit|billing|budget|enterprise|webhooks?|hooks?|migrations?|secrets?|runners?|settings?|permissions?|polic(y|ies)|installations?|keys?|tokens?|oidc|sso|saml|scim|quota|usage|metrics|health|ping|deprecated|internal|callback|oauth|interaction|restrictions?|protection|registr(y|ies)|configurations?|ssh|gpg|certificates?|advisor(y|ies)|subscriptions?|variables?|caches?|retention|allowances?|properties|rulesets?|environments?|blocks?|blocked|campaigns?|labels|topics)\b`)
	account   = regexp.MustCompile(`^/(user|me|account|users/me)\b`)
)

// pick returns the best operations. Each collection that is chosen makes others of
// its tag less useful, so that the file covers more than one kind of thing.
func pick(d *document, open []*operation, n int) []*operation {
	things := collections(open)
	for _, op := range open {
		op.score = d.score(op, things)
	}
	open = slices.Clone(open)
	var chosen []*operation
	taken := map[string]map[string]bool{} // by tag: the collections of chosen operations
	alias := map[string]string{}          // the last name of a collection, and the collection
	for len(chosen) < n && len(open) > 0 {
		worth := func(op *operation) float64 {
			s := op.score
			r := resource(op.path)
			if !taken[op.tag][r] {
				s -= 0.8 * float64(len(taken[op.tag]))
			}
			if at := alias[path.Base(r)]; at != "" && at != r && !op.searches() {
				s -= 4 // the same things, reached in another way
			}
			return s
		}
		best := slices.MaxFunc(open, func(a, b *operation) int {
			return cmp.Or(cmp.Compare(worth(a), worth(b)), -cmp.Compare(a.path, b.path), -cmp.Compare(a.method, b.method))
		})
		chosen = append(chosen, best)
		if taken[best.tag] == nil {
			taken[best.tag] = map[string]bool{}
		}
		r := resource(best.path)
		taken[best.tag][r] = true
		if alias[path.Base(r)] == "" {
			alias[path.Base(r)] = r
		}
		open = slices.DeleteFunc(open, func(op *operation) bool { return op == best })
	}
	slices.SortStableFunc(chosen, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	return chosen
}

// score judges one operation: what it does, how central the things are that it
// is about, and how much a caller must know.
func (d *document) score(op *operation, things map[string]*collection) float64 {
	thing := things[resource(op.path)]
	s := action(op, thing)
	words := op.summary + " " + strings.NewReplacer("/", " ", "_", " ", "-", " ").Replace(op.path+" "+op.id)
	if op.searches() {
		s += 7.5
	}
	if operators.MatchString(words) {
		s -= 4
	}
	if account.MatchString(op.path) {
		s -= 1.5 // about the account, not about what it holds
	}
	s += 0.6 * float64(len(thing.methods)) // what can be listed, read, created and changed is a thing of its own
	s += 0.5 * math.Log2(1+float64(thing.below))
	outer := things[resource(parent(resource(op.path)))]
	if outer == nil || outer.below == 0 {
		outer = thing
	}
	s += 0.5 * math.Log2(1+float64(outer.below))
	s += 0.5 * math.Log2(1+float64(things[op.tag].below))
	if op.tag != "" && strings.HasSuffix(resource(op.path), "/"+op.tag) {
		s += 1 // the thing that its tag is named after
	}
	s -= 0.4 * float64(max(0, strings.Count(op.path, "/")-3))
	s -= 0.2 * float64(len(d.required(op)))
	if d.hasExample(op) {
		s += 0.3
	}
	if op.summary == "" && op.about == "" {
		s--
	}
	return s
}

// searches reports whether an operation finds things by words.
func (op *operation) searches() bool {
	return op.tag == "search" || strings.Contains(op.path, "/search")
}

// action judges what an operation does: reads before changes, and changes before
// deletions.
func action(op *operation, thing *collection) float64 {
	item := strings.HasSuffix(op.path, "}")
	switch {
	case op.method == "GET" && (item || !thing.items):
		return 0.9
	case op.method == "GET":
		return 1 // a list: what a model starts with
	case op.method == "POST" && !item:
		return 0.5
	case op.method == "PATCH", op.method == "PUT" && item && !thing.methods["PATCH"]:
		return -0.5
	case op.method == "DELETE":
		return -8
	}
	return -1
}

// A collection is what the operations at /pets and /pets/{id} are about.
type collection struct {
	methods map[string]bool // with or without an item
	items   bool            // there are single items
	below   int             // operations at it and below it
}

// collections returns the collections of all operations by resource, and those of
// the tags by their names, which have no slash at the beginning.
func collections(all []*operation) map[string]*collection {
	things := map[string]*collection{}
	at := func(r string) *collection {
		if things[r] == nil {
			things[r] = &collection{methods: map[string]bool{}}
		}
		return things[r]
	}
	for _, op := range all {
		at(op.tag).below++
		r := resource(op.path)
		item := strings.HasSuffix(op.path, "}")
		c := at(r)
		c.items = c.items || item
		kind := op.method
		if item && kind == "GET" {
			kind = "GET item"
		}
		c.methods[kind] = true
		for ; r != ""; r = resource(parent(r)) {
			at(r).below++
		}
	}
	return things
}

// parent returns the path above a resource; "" if there is none.
func parent(r string) string {
	return r[:max(0, strings.LastIndexByte(r, '/'))]
}

// resource returns the collection of a path: /pets for /pets and /pets/{id}.
func resource(p string) string {
	p = strings.Trim(p, "/")
	if p == "" {
		return ""
	}
	parts := strings.Split(p, "/")
	for len(parts) > 1 && strings.HasPrefix(parts[len(parts)-1], "{") {
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = "{}"
		}
	}
	return "/" + strings.Join(parts, "/")
}

func (d *document) required(op *operation) (names []string) {
	for _, p := range op.parameters {
		if set(p, "required") {
			names = append(names, text(p, "name"))
		}
	}
	_, schema := d.content(op.body)
	for _, n := range list(schema, "required") {
		if name, ok := n.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func (d *document) hasExample(op *operation) bool {
	content, _ := op.response["content"].(object)
	for _, media := range content {
		m, _ := d.resolve(media)
		if m["example"] != nil || m["examples"] != nil {
			return true
		}
	}
	return false
}
