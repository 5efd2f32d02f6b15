package words

import (
	"math"
	"strconv"
)

// AppendFloat writes a float as the shortest JSON number that reads back as
// the same float.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	form := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits)
}
