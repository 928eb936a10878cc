package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func goldens() map[string][]byte {
	g := make(map[string][]byte)
	for name, m := range sampleMaps() {
		if name == "bare" {
			continue
		}
		g[name+".md"] = Markdown(m, Options{})
		g[name+".explain.txt"] = Explain(m, ExplainOptions{})
	}
	for _, model := range Models() {
		g["engine."+model+".txt"], _ = Model(engineMap(), model, Options{})
		g["orientation."+model+".txt"], _ = Model(orientationMap(), model, Options{})
	}
	g["engine.ascii.md"] = Markdown(engineMap(), Options{ASCII: true})
	g["engine.annotated.md"] = Markdown(engineMap(), Options{Annotate: true})
	g["sdk.relative.md"] = Markdown(sdkMap(), Options{Now: sampleClock})
	g["engine.notloaded.txt"] = Explain(engineMap(), ExplainOptions{NotLoaded: true})
	g["engine.colour.txt"] = Explain(engineMap(), ExplainOptions{Color: true, Suggestions: []string{"engine/ is tagged rust: try mwp-stack-rust"}})
	g["engine.why.txt"], _ = Why(engineMap(), "engine", ExplainOptions{})
	return g
}

func TestGolden(t *testing.T) {
	want := goldens()
	for name, got := range want {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v (run the test with -update)", err)
			continue
		}
		if !bytes.Equal(got, golden) {
			t.Errorf("%s differs (-golden +got):\n%s", file, cmp.Diff(string(golden), string(got)))
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok && !f.IsDir() {
			t.Errorf("testdata/%s belongs to no test", f.Name())
		}
	}
}
