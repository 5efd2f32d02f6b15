package expr

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// Guarded expressions have the results of jq, in its order.
func TestGuardedExpressions(t *testing.T) {
	input, err := Decode([]byte(`{"a": [1, 2, 3], "s": "ab", "n": 3, "o": {"x": 1, "y": [5]}, "e": []}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		`.n * 2`, `"x" * .n`, `.s * 0`, `.n * .s`, `(1, 2) * (3, 4)`, `.a | map(. * 2 + 1)`, `.a[] * .n`, `1 + 2 * 3 - 4 * 5`,
		`.n *= 2`, `.a[] *= 3`, `.a[1] *= (2, 3)`, `.a[0] = 9`, `.a[.n] = 9`, `.a[-1] = 0`, `.a[1:] = [7]`, `.a[5] |= 4`, `.o.x += 5`, `.o.y[0] -= 1`,
		`.a[1] //= 7`, `.e[0] //= 7`, `.a[0] /= 2`, `.a[2] %= 2`, `(.a[0], .n) = 8`, `.a = (1, 2)`, `(.a[] | select(. > 1)) |= . * 10`,
		`setpath(["a", 1]; 5)`, `setpath((["a"], ["s"]); 1, 2)`, `setpath(["o", "y", 2]; .n) | .o.y`, `to_entries | map(.key)`, `with_entries(.value |= tostring)`,
		`def f(x): x * 2; f(.n)`, `reduce .a[] as $x (1; . * $x)`, `[foreach .a[] as $x (1; . * $x; [., $x * 2])]`, `.a as [$p, $q] | $p * $q`,
		`{k: (.n * 2), "\(.n * 3)": 1}`, `if .n * 2 > 5 then .s * 2 else 0 end`, `try (.s * "x") catch "bad"`, `.o * {"z": {"w": 1}}`, `"\(.n * 2) of \(.s)"`,
		`.a[.n * 0]`, `-(.n) * 2`, `label $out | .a[] | . * 2, break $out`, `path(.a[1])`, `del(.a[0])`, `.a | .[1:] | map(. * 2)`, `def g: setpath(["a", 0]; 3); g | .a`,
	} {
		q, err := gojq.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		var want []any
		for it := q.Run(input); ; {
			v, ok := it.Next()
			if !ok {
				break
			}
			if err, ok := v.(error); ok {
				t.Fatalf("%s: %v", source, err)
			}
			want = append(want, v)
		}
		compiled, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := compiled.All(t.Context(), input, &Vars{})
		if err != nil || !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s: %s, %v; want %s", source, a, err, b)
		}
	}
}

// Numbers of a response cannot make a single step take much memory.
func TestNumbersOfResponsesAreBounded(t *testing.T) {
	input, err := Decode([]byte(`{"n": 500000000, "big": 1000000000000000000000000000000, "a": [1], "f": 5e8}`))
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		`"x" * .n`:                              "multiplied",
		`"x" * .f`:                              "multiplied",
		`"x" * .big`:                            "multiplied",
		`.n * "x"`:                              "multiplied",
		`.n as $n | "x" | . *= $n`:              "multiplied",
		`[.a[] * "x" * .n]?`:                    "",
		`.a[.n] = 1`:                            "set at the indexes",
		`.a[.f] = 1`:                            "set at the indexes",
		`.n as $n | .a[$n] |= 2`:                "set at the indexes",
		`.n as $n | .a[$n] += 2`:                "set at the indexes",
		`.n as $n | .a[$n] *= 2`:                "set at the indexes",
		`.n as $n | .a[$n:] = [1]`:              "set at the indexes",
		`.n as $n | setpath(["a", $n]; 1)`:      "set at the indexes",
		`def f(p): p = 1; .n as $n | f(.a[$n])`: "set at the indexes",
		`.n as $n | .a | getpath([$n]) = 1`:     "set at the indexes",
	} {
		q, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if _, err = q.All(t.Context(), input, &Vars{}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}
