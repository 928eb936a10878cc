package nodes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdjacentNames holds the conventions: what is asked for, and in which order. Only
// the beginning of a long list is written here, before "…".
func TestAdjacentNames(t *testing.T) {
	for target, want := range map[string]string{
		"a/foo.go":       "test a/foo_test.go *_test.go",
		"a/foo_test.go":  "source a/foo.go *_test.go",
		"foo.go":         "test foo_test.go *_test.go",
		"foo_linux.go":   "test foo_linux_test.go *_test.go",
		"_test.go":       "test _test_test.go *_test.go",
		"foo_test.go.md": "", "foo": "", ".go": "", "a.b/foo": "", "Makefile": "", "foo.GO": "",

		"a/foo.ts": `test a/foo.test.ts *.test.ts
test a/foo.test.tsx *.test.tsx
test a/foo.test.mts *.test.mts
test a/foo.test.cts *.test.cts
test a/foo.spec.ts *.spec.ts
test a/foo.spec.tsx *.spec.tsx
test a/foo.spec.mts *.spec.mts
test a/foo.spec.cts *.spec.cts
test a/__tests__/foo.test.ts __tests__/*.test.ts
…`,
		"foo.jsx": "test foo.test.jsx *.test.jsx\ntest foo.test.js *.test.js\n…",
		"a/foo.test.tsx": `source a/foo.tsx *.test.tsx
source a/foo.ts *.test.tsx
source a/foo.mts *.test.tsx
source a/foo.cts *.test.tsx`,
		"a/__tests__/foo.js": `source a/foo.js __tests__/*.js
source a/foo.jsx __tests__/*.js
source a/foo.mjs __tests__/*.js
source a/foo.cjs __tests__/*.js
source a/foo.vue __tests__/*.js
source a/foo.svelte __tests__/*.js`,
		"a/foo.vue": "test a/foo.test.ts *.test.ts\ntest a/foo.test.js *.test.js\n…",
		"p/test/a/foo.spec.mts": `source p/test/a/foo.mts *.spec.mts
source p/test/a/foo.ts *.spec.mts
source p/test/a/foo.tsx *.spec.mts
source p/test/a/foo.cts *.spec.mts
source p/src/a/foo.mts src/** -> test/**/*.spec.mts
source p/src/a/foo.ts src/** -> test/**/*.spec.mts
source p/src/a/foo.tsx src/** -> test/**/*.spec.mts
source p/src/a/foo.cts src/** -> test/**/*.spec.mts`,

		"src/pkg/foo.py": `test src/pkg/test_foo.py test_*.py
test src/pkg/foo_test.py *_test.py
test src/pkg/tests/test_foo.py tests/test_*.py
test src/pkg/tests/foo_test.py tests/*_test.py
test src/tests/test_foo.py ../tests/test_*.py
test src/tests/foo_test.py ../tests/*_test.py
test tests/pkg/test_foo.py src/** -> tests/**/test_*.py
test tests/pkg/foo_test.py src/** -> tests/**/*_test.py
test tests/test_foo.py src/** -> tests/test_*.py
test tests/foo_test.py src/** -> tests/*_test.py`,
		"foo.py": `test test_foo.py test_*.py
test foo_test.py *_test.py
test tests/test_foo.py tests/test_*.py
test tests/foo_test.py tests/*_test.py`,
		"pkg/tests/test_foo.py": `source pkg/tests/foo.py test_*.py
source pkg/foo.py tests/test_*.py
source pkg/src/foo.py src/** -> tests/**/test_*.py`,
		"latest.py": "test test_latest.py test_*.py\n…", "test_.py": "test test_test_.py test_*.py\n…",

		"core/src/main/java/org/x/Foo.java": `test core/src/test/java/org/x/FooTest.java src/main/** -> src/test/**/*Test.java
test core/src/test/java/org/x/FooTests.java src/main/** -> src/test/**/*Tests.java
test core/src/main/java/org/x/FooTest.java *Test.java
test core/src/main/java/org/x/FooTests.java *Tests.java`,
		"src/test/kotlin/FooTest.kt": `source src/main/kotlin/Foo.kt src/main/** -> src/test/**/*Test.kt
source src/test/kotlin/Foo.kt *Test.kt`,
		"src/test/scala/FooSpec.scala": "source src/main/scala/Foo.scala src/main/** -> src/test/**/*Spec.scala\nsource src/test/scala/Foo.scala *Spec.scala",
		"Contest.java":                 "test ContestTest.java *Test.java\n…",
		"src/A/Foo.cs": `test src/A/FooTests.cs *Tests.cs
test src/A/FooTest.cs *Test.cs
test tests/A/FooTests.cs src/** -> tests/**/*Tests.cs
test tests/A/FooTest.cs src/** -> tests/**/*Test.cs
test test/A/FooTests.cs src/** -> test/**/*Tests.cs
test test/A/FooTest.cs src/** -> test/**/*Test.cs`,

		"app/models/foo.rb": `test app/models/foo_spec.rb *_spec.rb
test app/models/foo_test.rb *_test.rb
test spec/models/foo_spec.rb app/** -> spec/**/*_spec.rb
test test/models/foo_test.rb app/** -> test/**/*_test.rb`,
		"spec/foo_spec.rb": `source spec/foo.rb *_spec.rb
source lib/foo.rb lib/** -> spec/**/*_spec.rb
source app/foo.rb app/** -> spec/**/*_spec.rb`,

		"c/src/a/foo.rs": `test c/src/a/foo_test.rs *_test.rs
test c/tests/foo_test.rs src/** -> tests/*_test.rs
test c/tests/foo.rs src/** -> tests/*.rs`,
		"c/tests/foo.rs":     "source c/src/foo.rs src/** -> tests/*.rs",
		"src/tests/src/f.rs": "test src/tests/src/f_test.rs *_test.rs\ntest src/tests/tests/f_test.rs src/** -> tests/*_test.rs\n…",

		"src/A/Foo.php":       "test src/A/FooTest.php *Test.php\ntest tests/A/FooTest.php src/** -> tests/**/*Test.php",
		"lib/a/foo.ex":        "test test/a/foo_test.exs lib/** -> test/**/*_test.exs",
		"test/a/foo_test.exs": "source lib/a/foo.ex lib/** -> test/**/*_test.exs",
		"lib/foo.dart":        "test test/foo_test.dart lib/** -> test/**/*_test.dart",
		"foo.cc":              "test foo_test.cc *_test.cc\ntest foo_test.c *_test.c\n…",
		"srcs/foo.php":        "test srcs/fooTest.php *Test.php",
	} {
		var lines []string
		for _, s := range adjacent(target) {
			lines = append(lines, fmt.Sprintf("%s %s %s", s.Kind, s.Path, s.Rule))
		}
		if head, cut := strings.CutSuffix(want, "\n…"); cut {
			want = head
			lines = lines[:min(len(lines), 1+strings.Count(head, "\n"))]
		}
		if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("adjacent(%s) (-want +got):\n%s", target, diff)
		}
	}
}

// TestAdjacentIsBounded: names and directories do not grow with the path, none is the
// target itself, none occurs twice, and none leaves the root.
func TestAdjacentIsBounded(t *testing.T) {
	for _, c := range conventions() {
		for _, ext := range append(c.sources, c.tests...) {
			for _, dir := range []string{".", "src", "lib", "app", "tests", "__tests__", "src/main/java", strings.Repeat("src/tests/lib/", 30) + "src"} {
				for _, stem := range []string{"x", "x_test", "test_x", "x.test", "xTest", "*", "..", "a*b"} {
					target := join(dir, stem+ext)
					seen := map[string]bool{target: true}
					dirs := map[string]bool{}
					for _, s := range adjacent(target) {
						if seen[s.Path] {
							t.Errorf("adjacent(%s) names %s twice, or itself", target, s.Path)
						}
						seen[s.Path], dirs[parent(s.Path)] = true, true
						if strings.HasPrefix(s.Path, "../") || strings.HasPrefix(s.Path, "/") || s.Rule == "" || s.Kind == "" {
							t.Errorf("adjacent(%s) has %+v", target, s)
						}
					}
					if len(seen) > 64 || len(dirs) > 6 {
						t.Errorf("adjacent(%s) asks for %d names in %d directories", target, len(seen), len(dirs))
					}
				}
			}
		}
	}
}

func FuzzAdjacent(f *testing.F) {
	for _, s := range []string{"a/foo.go", "src/a/foo_test.ts", "tests/src/x.rs", "", ".", "/", "//a.py", "a/.py", "\xff.go", "src/main/src/test/FooTest.java"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, s := range adjacent(path) {
			of := adjacent(s.Path)
			if s.Kind == "test" && (len(of) == 0 || of[0].Kind != "source") {
				t.Errorf("adjacent(%q) has the test %q, which is none by its name", path, s.Path)
			}
		}
	})
}
