package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const petDescription = `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://pets.example/v1"}],"paths":{
"/pets":{"get":{"operationId":"listPets","tags":["pets"],"summary":"List pets","responses":{"200":{"description":"ok"}}},
"post":{"operationId":"createPet","tags":["pets"],"summary":"Create a pet","responses":{"201":{"description":"ok"}}}},
"/stores":{"get":{"operationId":"listStores","tags":["stores"],"responses":{"200":{"description":"ok"}}}}}}`

// tenon api draft prints a file or writes one, and never replaces one.
func TestAPIDraft(t *testing.T) {
	k := newTasker(t)
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "openapi.json"), filepath.Join(dir, "pets.yaml")
	write(t, spec, petDescription)
	k.run(exitOK, []string{"api", "draft", spec}, "tenon: api/1", "name: pets", "list_pets:", "create_pet:", "list_stores:", "err:3 of 3 operations became tools")
	k.run(exitOK, []string{"api", "draft", spec, "--tag", "pets", "--read-only"}, "list_pets:", "# changes something, and --read-only is set, tag pets (1):", "err:1 of 3 operations")
	k.run(exitOK, []string{"api", "draft", spec, "--op", "GET /stores", "--name", "shop", "--base", "https://other.example"}, "name: shop", "list_stores:", `base: "https://other.example"`)
	k.run(exitOK, []string{"api", "draft", spec, "-o", out, "--max", "1"}, "err:1 of 3 operations")
	data, err := os.ReadFile(out)
	if err != nil || !strings.HasPrefix(string(data), "# Drafted by tenon api draft") {
		t.Errorf("%s, %v", data, err)
	}
	k.run(exitUsage, []string{"api", "draft", spec, "-o", out}, "err:exists already")
	k.run(exitUsage, []string{"api", "draft", spec, "--op", "nothing"}, `err:no operation is named "nothing"`)
	k.run(exitUsage, []string{"api", "draft", filepath.Join(dir, "none.json")}, "err:there is no file ")
	k.run(exitUsage, []string{"api", "draft"}, "err:name one description")
}
