package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// names of parameters that page through a list.
var (
	sizeNames   = []string{"per_page", "perPage", "page_size", "pageSize", "limit", "count", "maxResults", "max_results", "$top", "first", "size"}
	cursorNames = []string{"cursor", "page_token", "pageToken", "next_token", "nextToken", "starting_after", "after", "continuation_token", "next_cursor", "page_cursor"}
	nextNames   = []string{"next_cursor", "nextCursor", "next_page_token", "nextPageToken", "next_token", "nextToken", "continuation_token", "cursor"}
	listNames   = []string{"items", "data", "results", "value", "values", "entries", "records", "list"}
)

// page finds out how an operation pages, and returns the parameters of the query
// that are left.
func (d *document) page(t *tool, op *operation, query []param) []param {
	if op.method != "GET" {
		return query
	}
	_, schema := d.content(op.response)
	items, isList := ".", schema["items"] != nil || schema["type"] == "array"
	if name := d.arrayMember(schema); !isList && name != "" {
		items, isList = member(name), true
	}
	if !isList {
		return query
	}
	size, page, offset, cursor := find(query, sizeNames), find(query, []string{"page", "page_number", "pageNumber"}), find(query, []string{"offset", "skip", "start"}), find(query, cursorNames)
	headers, _ := op.response["headers"].(object)
	properties, _ := d.merged(schema, nil)["properties"].(object)
	fields := []string{}
	drop := []string{}
	switch next := d.nextMember(properties); {
	case headers["Link"] != nil || headers["link"] != nil:
		fields, drop = append(fields, "kind: link"), append(drop, page, cursor, "before", "after")
	case properties["@odata.nextLink"] != nil:
		fields, drop = append(fields, "kind: odata"), append(drop, "$skip", "$skiptoken")
	case next != "" && cursor != "":
		fields, drop = append(fields, "kind: cursor", "cursor: "+quote(next), "param: "+quote(cursor)), append(drop, cursor)
	case page != "" && size != "":
		fields, drop = append(fields, "kind: page", "param: "+quote(page)), append(drop, page)
	case offset != "" && size != "":
		fields, drop = append(fields, "kind: offset", "param: "+quote(offset)), append(drop, offset)
	default:
		return query
	}
	if items != "." && fields[0] != "kind: odata" {
		fields = append(fields, "items: "+quote(items))
	}
	if size != "" {
		fields, drop = append(fields, fmt.Sprintf("size: {param: %s, max: %d}", quote(size), maximum(query, size))), append(drop, size)
	}
	t.paging = "{" + strings.Join(fields, ", ") + "}"
	return slices.DeleteFunc(query, func(q param) bool {
		return slices.Contains(drop, q.name) && !q.required || q.name == "limit" || q.name == "cursor"
	})
}

func find(query []param, names []string) string {
	for _, name := range names {
		if slices.ContainsFunc(query, func(q param) bool { return q.name == name }) {
			return name
		}
	}
	return ""
}

var maxText = regexp.MustCompile(`(?i)max(?:imum)?:? ?(\d+)`)

// maximum returns the largest page that a parameter allows.
func maximum(query []param, name string) int {
	for _, q := range query {
		if q.name != name {
			continue
		}
		if m, ok := q.schema["maximum"].(float64); ok && m >= 1 {
			return int(min(m, 1000))
		}
		if m := maxText.FindStringSubmatch(text(q.schema, "description")); m != nil {
			n := 0
			fmt.Sscan(m[1], &n)
			return max(1, min(n, 1000))
		}
	}
	return 50
}

// nextMember returns the jq path of the cursor of the next page.
func (d *document) nextMember(properties object) string {
	for _, name := range nextNames {
		if properties[name] != nil {
			return member(name)
		}
	}
	for _, outer := range []string{"response_metadata", "meta", "pagination", "paging", "page_info", "pageInfo"} {
		inner := d.member(properties, outer, "properties")
		for _, name := range nextNames {
			if inner[name] != nil {
				return member(outer) + member(name)
			}
		}
	}
	return ""
}

// arrayMember returns the name of the member of an object that holds its items:
// one with a usual name, or the only array of objects.
func (d *document) arrayMember(schema object) string {
	properties, _ := d.merged(schema, nil)["properties"].(object)
	var arrays []string
	for _, name := range keys(properties) {
		p, _ := d.resolve(properties[name])
		if p["items"] != nil {
			arrays = append(arrays, name)
		}
	}
	for _, name := range listNames {
		if slices.Contains(arrays, name) {
			return name
		}
	}
	counted := properties["total_count"] != nil || properties["total"] != nil || properties["count"] != nil || properties["has_more"] != nil || d.nextMember(properties) != ""
	if len(arrays) == 1 && (len(properties) <= 3 || counted) {
		return arrays[0]
	}
	return ""
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// jqWords cannot be used as short members of a jq object.
var jqWords = []string{"and", "or", "not", "if", "then", "else", "elif", "end", "as", "def", "reduce", "foreach", "try", "catch", "label", "import", "include", "__loc__"}

// member returns the jq path of a member.
func member(name string) string {
	if identifier.MatchString(name) && !slices.Contains(jqWords, name) {
		return "." + name
	}
	return ".[" + jsonText(name) + "]"
}

// shape chooses what a model needs of the response.
func (d *document) shape(t *tool, op *operation) {
	media, schema := d.content(op.response)
	base, _, _ := strings.Cut(media, ";")
	if media != "" && !strings.HasSuffix(base, "json") && base != "*/*" {
		if !strings.HasPrefix(base, "text/") {
			t.output = append(t.output, pair{"as", "file"})
		}
		return
	}
	if schema == nil {
		return
	}
	schema = d.merged(schema, nil)
	prefix := ""
	if t.paging != "" || schema["items"] != nil {
		prefix = ".[] | "
		array := schema
		if name := d.arrayMember(schema); schema["items"] == nil && name != "" {
			array = d.member(schema, "properties", name)
		}
		item, _ := d.resolve(array["items"])
		schema = d.merged(item, nil)
	}
	limit := 24
	if prefix != "" {
		limit = 12
	}
	fields := d.fields(schema, limit)
	properties, _ := schema["properties"].(object)
	if len(fields) == 0 || len(fields) >= len(properties) {
		return
	}
	jq := "{" + strings.Join(fields, ", ") + "}"
	if prefix != "" {
		jq = "[" + prefix + jq + "]"
	}
	t.output = append(t.output, pair{"jq", "'" + strings.ReplaceAll(jq, "'", "''") + "'"})
}

var (
	noise  = regexp.MustCompile(`(?i)(^_|node_id|gravatar|etag|_url$|^url$|^links?$|^self$|permission|sha256|checksum|^object$|_count$)`)
	weight = []string{"id", "number", "key", "name", "full_name", "title", "subject", "login", "email", "state", "status", "type", "summary", "description", "text", "body", "content", "amount", "currency", "total", "price", "html_url", "created_at", "updated_at", "date"}
)

// fields returns the members of a jq object for the most telling properties.
func (d *document) fields(schema object, limit int) (fields []string) {
	properties, _ := schema["properties"].(object)
	rank := func(name string) int {
		if i := slices.Index(weight, name); i >= 0 {
			return i
		}
		if slices.Contains(list(schema, "required"), any(name)) {
			return 100
		}
		return 101
	}
	names := keys(properties)
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		if len(fields) == limit {
			break
		}
		if noise.MatchString(name) && name != "html_url" {
			continue
		}
		p, _ := d.resolve(properties[name])
		if f := d.field(name, d.merged(p, nil)); f != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// field returns the member of a jq object for one property, or "".
func (d *document) field(name string, schema object) string {
	key := name
	if !identifier.MatchString(name) || slices.Contains(jqWords, name) {
		key = jsonText(name)
	}
	schema = d.onlyAlternative(schema)
	if properties, _ := schema["properties"].(object); properties != nil {
		for _, inner := range []string{"login", "full_name", "name", "displayName", "title", "id"} {
			if properties[inner] != nil {
				return key + ": " + member(name) + member(inner) + "?"
			}
		}
		return ""
	}
	if schema["items"] != nil {
		item, _ := d.resolve(schema["items"])
		item = d.onlyAlternative(d.merged(item, nil))
		properties, _ := item["properties"].(object)
		if properties == nil {
			return shorthand(key, name)
		}
		for _, inner := range []string{"login", "name", "title", "id"} {
			if properties[inner] != nil {
				return key + ": [" + member(name) + "[]?" + member(inner) + "?]"
			}
		}
		return ""
	}
	if schema["type"] == "object" {
		return ""
	}
	return shorthand(key, name)
}

func shorthand(key, name string) string {
	if key == name {
		return name
	}
	return key + ": " + member(name)
}

// onlyAlternative returns the first alternative of a schema that is an object or
// null.
func (d *document) onlyAlternative(schema object) object {
	for _, o := range append(list(schema, "oneOf"), list(schema, "anyOf")...) {
		if one, _ := d.resolve(o); one["type"] != "null" && schema["properties"] == nil {
			return d.merged(one, nil)
		}
	}
	return schema
}
