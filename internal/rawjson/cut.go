package rawjson

// Inside returns what stands between the braces of an object that was checked,
// without white space around it; it is empty for an empty object, for nil and
// for anything that is not an object. It serves to write an object's members
// into another.
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

// Cut offers every member of an object that was checked to take, and returns
// the object without those that it took: the object itself if it took none,
// nil if it took them all.
func Cut(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, false) }

// CutOwn is Cut for an object that the caller owns and needs no more as it is.
// Where only the first and the last members are taken, which is where envelopes
// mostly stand, nothing is copied: the object is made to begin and to end
// between them. The values that were taken stay as they are.
func CutOwn(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, true) }

func cut(obj []byte, take func(name, value []byte) bool, own bool) []byte {
	var rest []byte // what is left, once members were taken from between others
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
	case own:
		obj[first-1], obj[last] = '{', '}' // where a bracket, a comma or a space was
		return obj[first-1 : last+1 : last+1]
	}
	rest = append(append(make([]byte, 0, last-first+2), '{'), obj[first:last]...)
	return append(rest, '}')
}
