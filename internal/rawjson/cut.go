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
func Cut(obj []byte, take func(name, value []byte) bool) []byte {
	var rest []byte // what is left, once something was taken
	cut := false
	first, last := 0, 0 // the span of the members before that
	for m := Object(obj); m.Next(); {
		switch taken := take(m.Name, m.Value); {
		case taken && !cut:
			cut = true
			rest = append(make([]byte, 0, len(obj)), '{')
			rest = append(rest, obj[first:last]...)
		case taken:
		case !cut:
			if last == 0 {
				first = m.Start
			}
			last = m.End
		default:
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(rest, obj[m.Start:m.End]...)
		}
	}
	if !cut {
		return obj
	}
	if len(rest) == 1 {
		return nil
	}
	return append(rest, '}')
}
