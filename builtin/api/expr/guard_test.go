package expr

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
)

// Guarded expressions have the results of jq, in its order.
func TestGuardedExpressions(t *testing.T) {
	input, err := Decode([]byte(`{"a": [1, 2, 3], "s": "ab", "n": 3, "o": {"x": 1, "y": [5]}, "e": [], "t": "héllo wörld llé"}`))
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
		`.t | [match("é(?<x>.)?(y)?"; "g")]`, `.t | match("l")`, `.t | [match("", "b"; "g", null)]`, `.t | [match("")]`, `[.t | test("HE", "x"; "i", null)]`, `.t | capture("(?<a>h)(?<b>q)?(l)?")`,
		`[.t | capture("(?<c>[a-z])é"; "g")]`, `[.t | scan("l+")]`, `[.t | scan("(l)(.)")]`, `[.t | scan("L"; "i")]`, `[.t | splits("l+")]`, `[.t | splits(" *"; null)]`, `.t | split("l")`, `.t | split("l+"; "g")`,
		`"" | split("x")`, `"" | split("x"; null)`, `"" | split("")`, `"aé" | split("")`, `"" | [splits("a")]`, `.t | sub("l"; "L")`, `.t | gsub("(?<c>[lo])"; "<\(.c)>")`, `[.t | gsub("l"; "1", "2")]`, `[.t | gsub("(?<c>.)"; if .c == "l" then "1", "2" else .c end)]`,
		`.t | gsub("x"; "y")`, `[.t | gsub("l"; empty)]`, `.t | gsub("L"; "m"; "i")`, `[.t | sub("l", "o"; "_")]`, `.t | gsub(""; "-")`, `.t | gsub("^"; ">")`, `"" | gsub("a"; "b")`, `"" | gsub(""; "b")`, `.t | gsub("(?<x>l)(?<y>z)?"; "\(.y)")`,
		`.t | explode | implode`, `.t | [indices("l"), index("l"), rindex("l")]`, `.a | [indices(2), index(2), indices([2, 3])]`, `"12.50", " 7", "-3" | (try tonumber catch "bad")`,
		`def split($x): "mine"; .t | split("l")`, `.t | [splits("l")] | map(test("h"))`, `.t | gsub("l"; "a" | gsub("a"; "b"))`, `try (1 | test("a")) catch "bad"`, `try ("a" | test(1)) catch "bad"`, `try ("a" | test("a"; "q")) catch "bad"`, `try ("a" | gsub("a"; 1)) catch "bad"`,
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

// The time and the memory of functions of texts grow with the text, not with its
// square, and a text that would take many times its size is refused.
func TestTextsOfResponsesAreBounded(t *testing.T) {
	lines := strings.Repeat(strings.Repeat("a", 60)+"\n", 5_000) // a file of 225 kB in base64
	for source, want := range map[string]any{
		`gsub("[\n\r ]"; "") | length`:         300_000,
		`[splits("\n")] | length`:              5_001,
		`split("\n") | length`:                 5_001,
		`[scan("a\n")] | length`:               5_000,
		`[match("\n"; "g")] | last.offset`:     304_999,
		`[capture("(?<x>a)\n"; "g")] | length`: 5_000,
		`gsub("(?<x>a)\n"; "\(.x)b") | length`: 305_000,
		`[test("b"), (.[:1000] | explode | length), (.[:9] | indices("a") | length)]`: []any{false, 1000, 9},
	} {
		q, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		q.time = time.Minute // the race detector and a busy machine need more than users have
		if got, err := q.One(t.Context(), lines, &Vars{}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", source, got, err, want)
		}
	}
	long := strings.Repeat("a", 1_200_000)
	for source, want := range map[string]string{
		`explode | length`: "at most 1000000 characters", `split("") | length`: "at most 250000 pieces", `split("a") | length`: "at most 250000 pieces",
		`[match("a"; "g")] | length`: "match at most 100000 times", `[scan("a")] | length`: "match at most 100000 times", `[splits("a")] | length`: "match at most 250000 times",
		`gsub("a"; "b") | length`: "match at most 250000 times", `gsub(""; "b") | length`: "match at most 250000 times", `indices("a") | length`: "at most 1000000 characters",
		`index("b")`: "at most 1000000 characters", `[rindex("b")]`: "at most 1000000 characters", `tonumber`: "at most 1000 digits", `test("(a|b){1000}" * 21)`: "at most 20000 steps", `test("x" * 20001)`: "at most 20000 steps", `[.] | map(tonumber)`: "at most 1000 digits",
		`"[" + gsub("a"; "") + "]"`: "match at most",
		`("7" * 2000) | fromjson`:   "more than 1000 digits", `.[:1000] | gsub("a"; "b" * 40000)`: "more than 32 MiB of results",
	} {
		q, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		q.time = time.Minute
		if _, err := q.One(t.Context(), long, &Vars{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", source, err, want)
		}
	}
	if v, err := Decode([]byte(`[` + strings.Repeat(`{},`, 2_500_000) + `1]`)); err == nil {
		t.Errorf("decoded %d values", len(v.([]any)))
	}
	if _, err := Decode([]byte(`[` + strings.Repeat(`1,`, 500_000) + `1]`)); err != nil {
		t.Errorf("an array of numbers: %v", err)
	}
}
