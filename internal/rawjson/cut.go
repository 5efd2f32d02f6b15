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
// Where only the last members are taken, which is where envelopes mostly stand,
// nothing is copied: the object is made to end before them.
func CutOwn(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, true) }

func cut(obj []byte, take func(name, value []byte) bool, own bool) []byte {
	var rest []byte // what is left, once a member stands after one that was taken
	taken := false
	first, last := 0, 0 // the span of the members before the first that was taken
	for m := Object(obj); m.Next(); {
		switch {
		case take(m.Name, m.Value):
			taken = true
		case !taken:
			if last == 0 {
				first = m.Start
			}
			last = m.End
		default:
			if rest == nil {
				rest = append(append(make([]byte, 0, len(obj)), '{'), obj[first:last]...)
			}
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(rest, obj[m.Start:m.End]...)
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
		obj[last] = '}' // where the comma was
		return obj[space(obj, 0) : last+1 : last+1]
	}
	rest = append(append(make([]byte, 0, last-first+2), '{'), obj[first:last]...)
	return append(rest, '}')
}
