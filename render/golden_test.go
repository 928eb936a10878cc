package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
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
	g["signals.claude.txt"], _ = Model(signalsMap(), "claude", Options{})
	g["engine.ascii.md"] = Markdown(engineMap(), Options{ASCII: true})
	g["engine.annotated.md"] = Markdown(engineMap(), Options{Annotate: true})
	g["sdk.relative.md"] = Markdown(sdkMap(), Options{Now: sampleClock})
	g["engine.notloaded.txt"] = Explain(engineMap(), ExplainOptions{NotLoaded: true})
	g["engine.colour.txt"] = Explain(engineMap(), ExplainOptions{Color: true, Suggestions: []string{"engine/ is tagged rust: try mwp-stack-rust"}})
	for _, model := range Models() {
		g["guards."+model+".txt"], _ = Model(guardsMap(), model, Options{})
	}
	g["guards.ascii.md"] = Markdown(guardsMap(), Options{ASCII: true})
	g["guards.relative.md"] = Markdown(guardsMap(), Options{Now: sampleClock})
	g["guards.accounts.txt"] = Explain(guardsMap(), ExplainOptions{Guards: guardAccounts()})
	g["guards.why.txt"], _ = Why(guardsMap(), "engine/rules.md", ExplainOptions{Guards: guardAccounts()})
	g["verify.txt"] = Verify(sampleVerifyReport(), VerifyOptions{})
	g["verify.ascii.txt"] = Verify(sampleVerifyReport(), VerifyOptions{ASCII: true})
	g["verify.colour.txt"] = Verify(sampleVerifyReport(), VerifyOptions{Color: true})
	g["verify.list.txt"] = Verify(sampleVerifyReport(), VerifyOptions{Keys: true})
	g["verify.empty.txt"] = Verify(&ir.VerifyReport{}, VerifyOptions{})
	g["verify.json"] = ir.AppendVerifyJSON(nil, sampleVerifyReport())
	g["verify.empty.json"] = ir.AppendVerifyJSON(nil, &ir.VerifyReport{})
	g["verify.junit.xml"] = JUnit(sampleVerifyReport())
	g["verify.empty.junit.xml"] = JUnit(&ir.VerifyReport{})
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
