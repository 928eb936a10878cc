package mwp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keySchema is what the tables of docs/keys.md need of a JSON schema. Keys come in the
// schema's order, which is that of importance, so the properties are read as tokens.
type keySchema struct {
	Description string
	Default     any
	Enum        []any
	Properties  orderedSchemas
}

type namedSchema struct {
	name string
	keySchema
}

type orderedSchemas []namedSchema

func (o *orderedSchemas) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		s := namedSchema{name: name.(string)}
		if err := d.Decode(&s.keySchema); err != nil {
			return err
		}
		*o = append(*o, s)
	}
	return nil
}

// keyTable is a Markdown table of keys, those of tables inside by their path.
func keyTable(b *strings.Builder, prefix string, keys orderedSchemas) {
	for _, k := range keys {
		if len(k.Properties) > 0 && prefix == "" && k.name != "contains" {
			keyTable(b, k.name+".", k.Properties)
			continue
		}
		text := strings.ReplaceAll(k.Description, "|", `\|`)
		if k.Default != nil {
			def, _ := json.Marshal(k.Default)
			text = strings.TrimSpace(text + fmt.Sprintf(" Left out: `%s`.", def))
		}
		fmt.Fprintf(b, "| `%s%s` | %s |\n", prefix, k.name, text)
	}
}

// TestKeysDocument holds docs/keys.md to the schemas, which other tests hold to the parsers.
func TestKeysDocument(t *testing.T) {
	read := func(name, def string) orderedSchemas {
		b, err := os.ReadFile(filepath.Join("docs", "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			keySchema
			Defs map[string]keySchema `json:"$defs"`
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		if def != "" {
			return s.Defs[def].Properties
		}
		return s.Properties
	}
	path := filepath.Join("docs", "keys.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(doc)
	for _, table := range []struct{ name, file, def string }{
		{"header", "header.schema.json", ""}, {"import", "header.schema.json", "import"}, {"guard", "header.schema.json", "guard"}, {"config", "config.schema.json", ""},
	} {
		keys := read(table.file, table.def)
		if len(keys) < 3 {
			t.Fatalf("%s has %d keys", table.name, len(keys))
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- %s -->\n\n| key | what |\n|---|---|\n", table.name)
		keyTable(&b, "", keys)
		fmt.Fprintf(&b, "\n<!-- /%s -->", table.name)
		before, rest, ok := strings.Cut(got, "<!-- "+table.name+" -->")
		_, after, ok2 := strings.Cut(rest, "<!-- /"+table.name+" -->")
		if !ok || !ok2 {
			t.Fatalf("%s has no place for the table %s", path, table.name)
		}
		got = before + b.String() + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(got, string(doc)); diff != "" {
		t.Errorf("%s is not what the schemas say; go test . -run TestKeysDocument -update\n(-want +got):\n%s", path, diff)
	}
}
