package rawjson

// Inside returns the text between the braces of a checked object, without
// white space around it. It is empty for an empty object, nil, and any other
// value. Use it to write the members of an object into another.
func Inside(obj []byte) []byte {
	i := space(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return nil
	}
	i = space(obj, i+1)
	end := len(obj)
	for end > i && isSpace(obj[end-1]) {
		end--
	}
	if end--; end <= i {
		return nil
	}
	for end > i && isSpace(obj[end-1]) {
		end--
	}
	return obj[i:end]
}

// Cut calls take for every member of a checked object and returns the object
// without those for which take returns true: the object itself if there are
// none, nil if they are all.
func Cut(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, false) }

// CutOwn is like Cut for an object that the caller owns and no longer needs.
// If only the first and last members are taken, as is usual for envelopes,
// nothing is copied: the object is shortened in place. The taken values are
// not changed.
func CutOwn(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, true) }

func cut(obj []byte, take func(name, value []byte) bool, owned bool) []byte {
	var rest []byte // the remaining members, once one between others was taken
	taken, gap := false, false
	first, last := 0, 0 // the span of the members that follow each other
	for m := Object(obj); m.Next(); {
		switch {
		case take(m.Name, m.Value):
			taken, gap = true, last > 0
		case last == 0:
			first, last = m.Start, m.End
		case !gap:
			last = m.End
		default:
			if rest == nil {
				rest = append(append(make([]byte, 0, len(obj)), '{'), obj[first:last]...)
			}
			rest = append(append(rest, ','), obj[m.Start:m.End]...)
		}
	}
	switch {
	case !taken:
		return obj
	case rest != nil:
		return append(rest, '}')
	case last == 0:
		return nil
	case owned:
		obj[first-1], obj[last] = '{', '}' // where a bracket, a comma or a space was
		return obj[first-1 : last+1 : last+1]
	}
	rest = append(append(make([]byte, 0, last-first+2), '{'), obj[first:last]...)
	return append(rest, '}')
}
