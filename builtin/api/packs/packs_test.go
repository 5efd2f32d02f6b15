package packs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

func TestPacksAreFilesOfTheFormat(t *testing.T) {
	if want := []string{"github", "onenote", "orders", "slack"}; !slices.Equal(Names(), want) {
		t.Errorf("packs %v, want %v", Names(), want)
	}
	for _, name := range Names() {
		data, ok := File(name)
		if !ok {
			t.Fatal(name)
		}
		f, err := spec.Load(name+".yaml", data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Name != name || f.Instructions == "" || f.Description == "" {
			t.Errorf("%s: name %q, or it does not say what it is for", name, f.Name)
		}
	}
	if _, ok := File("../spec/file"); ok {
		t.Error("there is a pack that is none")
	}
}

// The document of a pack names each of its tools.
func TestDocumentsNameTheToolsOfPacks(t *testing.T) {
	for _, name := range Names() {
		data, _ := File(name)
		f, err := spec.Load(name+".yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("../../../docs/servers/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for tool := range f.Tools {
			if !strings.Contains(string(text), "`"+tool+"`") {
				t.Errorf("docs/servers/%s.md does not name the tool %s", name, tool)
			}
		}
	}
}
