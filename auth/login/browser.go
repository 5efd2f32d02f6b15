package login

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// OpenBrowser opens a page in the user's browser. It starts a fixed program
// without a shell, with the page as one argument, and refuses a page that is not a
// plain web address. It waits up to 2 seconds for the program to fail. The caller
// tells the user that no browser was opened.
func OpenBrowser(page string) error {
	if _, err := checkOpenable(page); err != nil {
		return fmt.Errorf("check the page: %w", err)
	}
	name, args := launcher(runtime.GOOS, page)
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, errors.Unwrap(err))
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the launcher
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case <-time.After(launchWait):
	}
	return nil
}

// launchWait is how long to wait for a launcher to fail. A launcher that
// still runs after it may have become the browser.
var launchWait = 2 * time.Second

// launcher returns the program that opens a page on an operating system. The
// page is always the last argument.
func launcher(system, page string) (name string, args []string) {
	switch system {
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", page}
	case "darwin":
		return "open", []string{page}
	}
	return "xdg-open", []string{page}
}

// checkOpenable refuses anything but an ordinary http or https URL. It also
// refuses characters that have a meaning in a shell, except & and = in a
// query or fragment and the # before a fragment.
func checkOpenable(page string) (*url.URL, error) {
	u, err := url.Parse(page)
	switch {
	case err != nil:
		return nil, errors.New("not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("not an http or https URL")
	case u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, errors.New("not an http or https URL of a host")
	case len(page) > 16<<10:
		return nil, errors.New("the URL is too long")
	}
	address, fragment, _ := strings.Cut(page, "#")
	before, query, _ := strings.Cut(address, "?")
	inQuery := func(r rune) bool { return !plainInURL(r) && r != '&' && r != '?' }
	if strings.ContainsFunc(before, func(r rune) bool { return !plainInURL(r) }) ||
		strings.ContainsFunc(query, inQuery) || strings.ContainsFunc(fragment, inQuery) {
		return nil, errors.New("the URL contains unsafe characters")
	}
	return u, nil
}

func plainInURL(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-._~/:@%+=,[]", r)
}
