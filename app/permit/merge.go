package permit

import (
	"maps"
	"os"
)

// Merge adds the records of one file to another. It returns the number of added
// tools and whether the files contradict each other about a tool; then the second
// file counts, unless the first always denies the tool. The first file stays
// unchanged.
func Merge(from, to string) (added int, contradict bool, err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return 0, false, err
	}
	other, err := read(from, data)
	if err != nil {
		return 0, false, err
	}
	err = (&Book{file: to, kept: records{}}).update(func(all records) { added, contradict = all.join(other) })
	return added, contradict, err
}

// join adds records; see [Merge].
func (all records) join(other records) (added int, contradict bool) {
	for k, r := range other {
		own, known := all[k]
		switch {
		case !known:
			added++
			all[k] = r
		case !own.equal(r):
			contradict = true
			if r.Answer == Never {
				all[k] = r
			}
		}
	}
	return added, contradict
}

func (r record) equal(o record) bool {
	return r.Answer == o.Answer && string(r.Definition) == string(o.Definition) && maps.Equal(r.Identity, o.Identity)
}
