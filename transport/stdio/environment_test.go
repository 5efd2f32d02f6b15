package stdio

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	own := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C", "LANGUAGE=de", "AWS_SECRET=x", "MY_A=1", "MY_B=2",
		"LANG=() { :; }", "=C:=C:\\", "BROKEN", "Path=/other", "SystemRoot=C:\\Windows",
	}
	tests := []struct {
		name    string
		cmd     Command
		windows bool
		want    []string
	}{
		{"defaults", Command{}, false, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C"}},
		{"set wins", Command{Env: map[string]string{"HOME": "/new", "A": ""}}, false, []string{"PATH=/bin", "LC_ALL=C", "LC_TIME=C", "A=", "HOME=/new"}},
		{"one more", Command{InheritEnv: []string{"MY_A"}}, false, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C", "MY_A=1"}},
		{"some more", Command{InheritEnv: []string{"MY_*"}}, false, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C", "MY_A=1", "MY_B=2"}},
		{"everything but code", Command{InheritEnv: []string{"*"}}, false, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C", "LANGUAGE=de", "AWS_SECRET=x", "MY_A=1", "MY_B=2", "Path=/other", "SystemRoot=C:\\Windows"}},
		{"windows", Command{}, true, []string{"PATH=/bin", "Path=/other", "SystemRoot=C:\\Windows"}},
		{"windows set wins", Command{Env: map[string]string{"pAtH": "x"}}, true, []string{"SystemRoot=C:\\Windows", "pAtH=x"}},
		{"case counts elsewhere", Command{InheritEnv: []string{"my_a"}, Env: map[string]string{"path": "x"}}, false, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=C", "path=x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.cmd.environmentOn(own, tt.windows)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

func TestEnvironmentRefused(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"must not be empty":   {"": "x"},
		"nor contain '='":     {"A=B": "x"},
		"contains a NUL byte": {"A": "x\x00y"},
		"is set twice":        {"Path": "x", "PATH": "y"},
	} {
		_, err := (&Command{Env: env}).environmentOn(nil, true)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", env, err, want)
		}
	}
}
