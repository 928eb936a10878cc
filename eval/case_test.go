package eval_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/model-workspace-protocol/mwp/eval"
)

func TestOnDiskCase(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"Src/Api", "both", "BOTH"} {
		os.MkdirAll(filepath.Join(root, d), 0o755)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 3 {
		t.Skip("SKIP: this file system cannot hold two names that differ in case")
	}
	for in, want := range map[string]string{
		"src/api": "Src/Api", "Src/api/new.go": "Src/Api/new.go", "both": "both", "BOTH": "BOTH", "gone/API": "gone/API", ".": ".",
	} {
		if got := eval.OnDiskCase(root, in); got != want {
			t.Errorf("OnDiskCase(%q) = %q, want %q", in, got, want)
		}
	}
}
