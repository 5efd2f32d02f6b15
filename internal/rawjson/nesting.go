package rawjson

// Nesting returns an upper bound of how deep brackets are nested in JSON or YAML,
// whose parsers may call themselves for each.
func Nesting(data []byte) (deepest int) {
	depth := 0
	for _, b := range data {
		switch b {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}
