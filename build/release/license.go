package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licenseText returns the texts of the files in a folder that say under what
// terms it may be used.
func licenseText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		known := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "NOTICE")
		if !known || !e.Type().IsRegular() || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\n", bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
	}
	if b.Len() == 0 {
		return "", errors.New("it has no license, so it cannot be distributed")
	}
	return b.String(), nil
}

// licenseID returns the id of SPDX of a license text, or NOASSERTION if the text
// is not one of those that Go modules commonly have.
func licenseID(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	var found []string
	if has("apache license version 2.0, january 2004") {
		found = append(found, "Apache-2.0")
	}
	if has("permission is hereby granted, free of charge, to any person obtaining a copy") {
		found = append(found, "MIT")
	}
	if has("redistribution and use in source and binary forms") {
		if has("neither the name") || has("the names of its contributors may not") || has("the name of the author may not") || has("names of the contributors may") {
			found = append(found, "BSD-3-Clause")
		} else {
			found = append(found, "BSD-2-Clause")
		}
	}
	if has("permission to use, copy, modify, and/or distribute this software for any purpose") || has("permission to use, copy, modify, and distribute this software for any purpose") {
		found = append(found, "ISC")
	}
	if has("mozilla public license, version 2.0") || has("mozilla public license version 2.0") {
		found = append(found, "MPL-2.0")
	}
	if len(found) != 1 { // none, or several that only a person can combine
		return "NOASSERTION"
	}
	return found[0]
}

// notices returns the licenses of all modules as one text.
func notices(all map[string]license) []byte {
	var b bytes.Buffer
	b.WriteString("The programs of this release contain the following software.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l := all[name]
		title := l.module + " " + l.version
		if l.module == "std" {
			title = "the Go standard library, " + l.version
		}
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s", title, strings.Repeat("=", len(title)), l.text)
	}
	return b.Bytes()
}
