package gateway

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/mcp"
)

// openPins opens pins in a file of the test.
func openPins(t *testing.T, file string, o PinOptions) *Pins {
	t.Helper()
	o.File = file
	if o.Log == nil {
		o.Log = quiet
	}
	p, err := OpenPins(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func seeTool(p *Pins, name, description string) (held bool) {
	return p.see(pinKey{"s", PinTool, name, ""}, newDefinition([]byte(`{"name":"`+name+`","description":"`+description+`"}`)), false)
}

// eventually waits for what another goroutine does with the file.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestPinFileCanBeReviewed writes a sorted file whose lines show the words, with
// escapes for what cannot be seen, and reads it again.
func TestPinFileCanBeReviewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins.json")
	p := openPins(t, file, PinOptions{})
	seeTool(p, "sub", "Subtracts <b>.\\u200b Ünïcode 🙂.")
	seeTool(p, "add", "Adds.")
	if !seeTool(p, "add", "Adds more.") {
		t.Error("a changed definition is not held back")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "pins": [
    {
      "server": "s",
      "kind": "tool",
      "name": "add",
      "approved": {
        "digest": "sha256:2e37b8a6",
        "definition": {
          "description": "Adds."
        }
      },
      "held": {
        "digest": "sha256:",
        "definition": {
          "description": "Adds more."
        }
      }
    },
    {
      "server": "s",
      "kind": "tool",
      "name": "sub",
      "approved": {
        "digest": "sha256:",
        "definition": {
          "description": "Subtracts <b>.\u200b Ünïcode 🙂."
        }
      }
    }
  ]
}
`
	digests := func(s string) string {
		var b strings.Builder
		for line := range strings.Lines(s) {
			if i := strings.Index(line, `"sha256:`); i >= 0 {
				line = line[:i] + "…\n"
			}
			b.WriteString(line)
		}
		return b.String()
	}
	if digests(string(got)) != digests(want) {
		t.Errorf("the file:\n%s\nwant:\n%s", got, want)
	}
	again := openPins(t, file, PinOptions{HoldNew: true})
	if seeTool(again, "sub", "Subtracts <b>.\\u200b Ünïcode 🙂.") || !seeTool(again, "add", "Adds more.") || !seeTool(again, "new", "New.") {
		t.Error("the file is read differently")
	}
}

// TestApprovalInTheFileCounts lets another process approve, and the order of
// members and white space do not matter.
func TestApprovalInTheFileCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins.json")
	p := openPins(t, file, PinOptions{HoldNew: true})
	if !seeTool(p, "add", "Adds.") {
		t.Fatal("it is not held back")
	}
	if p.see(pinKey{"s", PinTool, "add", ""}, newDefinition([]byte("{ \"description\" : \"Add\\u0073.\", \"icons\":[], \"_meta\":{\"a\":1}, \"name\":\"add\" }")), false); len(p.List()) != 1 {
		t.Error("the same definition counts twice")
	}
	eventually(t, "it is not written", func() bool { data, _ := os.ReadFile(file); return strings.Contains(string(data), "Adds.") })
	other := openPins(t, file, PinOptions{})
	if done, err := other.Approve(func(Pin) bool { return true }); err != nil || len(done) != 1 {
		t.Fatalf("approve: %v %v", done, err)
	}
	eventually(t, "the approval does not count", func() bool { return !seeTool(p, "add", "Adds.") })
}

// TestBrokenPinFileLosesNothing neither uses nor overwrites a file that cannot be
// read, and goes on with the last pins.
func TestBrokenPinFileLosesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pins.json")
	p := openPins(t, file, PinOptions{})
	seeTool(p, "add", "Adds.")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, bad := range map[string]string{
		"not JSON":       "<<<<<<< HEAD\n" + string(good),
		"empty":          "",
		"changed words":  strings.Replace(string(good), "Adds.", "Adds!", 1),
		"no definition":  `{"pins":[{"server":"s","kind":"tool","name":"add"}]}`,
		"unknown kind":   strings.Replace(string(good), `"tool"`, `"spoon"`, 1),
		"duplicate name": strings.Replace(string(good), `"name": "add",`, `"name": "add", "name": "sub",`, 1),
	} {
		t.Run(what, func(t *testing.T) {
			var log lockedBuffer
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(string(good))
			p := openPins(t, file, PinOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
			write(bad)
			if _, err := OpenPins(&PinOptions{File: file}); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("open: %v", err)
			}
			if _, err := p.Approve(func(Pin) bool { return true }); err == nil {
				t.Error("a broken file is changed")
			}
			seeTool(p, "sub", "Subtracts.")
			eventually(t, "the error is not logged", func() bool { return strings.Contains(log.String(), file) })
			if seeTool(p, "add", "Adds.") || !seeTool(p, "add", "Adds badly.") {
				t.Error("the last pins do not count")
			}
			if now, _ := os.ReadFile(file); string(now) != bad {
				t.Errorf("the file was changed: %s", now)
			}
		})
	}
	t.Run("removed", func(t *testing.T) {
		if err := os.WriteFile(file, good, 0o600); err != nil {
			t.Fatal(err)
		}
		p := openPins(t, file, PinOptions{})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if !seeTool(p, "add", "Adds badly.") {
			t.Error("the last pins do not count")
		}
		eventually(t, "the pins are not written again", func() bool { data, _ := os.ReadFile(file); return strings.Contains(string(data), `"Adds."`) })
	})
}

type lockedBuffer = logtest.Buffer

// TestManyWritersOfPins loses no pin when several gateways and operators write
// the file at once.
func TestManyWritersOfPins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins.json")
	var writers sync.WaitGroup
	for i := range 4 {
		p := openPins(t, file, PinOptions{HoldNew: true})
		writers.Go(func() {
			for j := range 10 {
				name := fmt.Sprintf("t%d-%d", i, j)
				seeTool(p, name, "Does it.")
				if _, err := p.Approve(func(pin Pin) bool { return pin.Name == name }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	all := openPins(t, file, PinOptions{}).List()
	if len(all) != 40 {
		t.Errorf("%d pins", len(all))
	}
	for _, pin := range all {
		if pin.Approved == nil || pin.Held != nil {
			t.Errorf("%s is not approved", pin)
		}
	}
}

// TestRemovedPinsCountAsNew sees a definition for the first time again.
func TestRemovedPinsCountAsNew(t *testing.T) {
	p := openPins(t, "", PinOptions{})
	seeTool(p, "add", "Adds.")
	if !seeTool(p, "add", "Adds more.") {
		t.Error("not held back")
	}
	if gone, err := p.Remove(func(Pin) bool { return true }); err != nil || len(gone) != 1 || gone[0].Held == nil {
		t.Errorf("remove: %+v %v", gone, err)
	}
	if seeTool(p, "add", "Adds more.") {
		t.Error("held back")
	}
}

// TestHeldPinsAreWrittenSoon shows an operator what is held back without waiting
// for the next look at the file.
func TestHeldPinsAreWrittenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pins.json")
		p, err := OpenPins(&PinOptions{File: file, HoldNew: true, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := as(nil, p.Guard("s")(&fake{tools: toolsOf(addTool)}), mcp.MethodToolsList, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * pinBatch)
		synctest.Wait()
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "Adds.") {
			t.Errorf("%s %v", data, err)
		}
	})
}
