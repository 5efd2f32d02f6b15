package main

import (
	"strings"
	"testing"
)

// A folder of settings that cannot be written is an error that says what to do, and
// names the file that people know. Not even root writes to /sys.
func TestFolderThatCannotBeWritten(t *testing.T) {
	for line, want := range map[string][]string{
		"run add -s builtin:calc --model none":                          {"mkdir /sys/host: ", "; set TENON_CONFIG_DIR to a folder that you can write"},
		"up -s builtin:calc --model none --no-browser":                  {"mkdir /sys/host: ", "; set TENON_CONFIG_DIR to a folder that you can write"},
		"up -s builtin:calc --model none --no-browser --workspace /sys": {"mkdir /sys/host: ", "; choose a folder that you can write with --workspace"},
		"config add calc builtin:calc":                                  {"write /sys/tenon.json: ", "; the file is unchanged"},
		"gateway keys add build":                                        {"write gateway-keys.json: "},
	} {
		cmd := binary(t, strings.Fields(line)...)
		set(cmd, "TENON_CONFIG_DIR", "/sys")
		code, _, errs := output(t, cmd)
		if code == 0 || strings.Contains(errs, ".tenon-") {
			t.Errorf("%s: exit code %d: %s", line, code, errs)
		}
		for _, part := range want {
			if !strings.Contains(errs, part) {
				t.Errorf("%s: %s; want %q", line, errs, part)
			}
		}
	}
}
