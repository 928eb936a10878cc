package mwp_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/model-workspace-protocol/mwp"

// room is one row of the table in docs/architecture.md: which of our packages
// and which outside modules a package may import, and which standard packages it
// may not. When this test fails, change the code, not the table.
type room struct {
	ours    []string
	outside []string
	never   []string
}

var (
	noFiles   = []string{"os", "os/exec", "net", "net/http"}
	noNetwork = []string{"net", "net/http"}
)

var rooms = map[string]room{
	"cas":          {outside: []string{"github.com/zeebo/blake3", "golang.org/x/sys/windows", "golang.org/x/sys/unix"}, never: noNetwork},
	"cas/castest":  {ours: []string{"cas"}, outside: []string{"github.com/google/go-cmp/cmp"}, never: noNetwork},
	"graph":        {ours: []string{"cas"}, never: append([]string{"math/rand", "math/rand/v2"}, noFiles...)},
	"nodes/ir":     {never: noFiles},
	"nodes/tokens": {never: noFiles},
	"nodes/pin":    {never: noFiles},
	"nodes/ignore": {never: noFiles},
	// What a command is, and how far it is trusted; running it is eval/guard's.
	"nodes/command": {never: noFiles},
	"render":        {ours: []string{"nodes/ir"}, never: append([]string{"time.Now"}, noFiles...)},
	"render/page":   {ours: []string{"nodes/ir", "render"}, never: append([]string{"time.Now"}, noFiles...)},
	"nodes": {
		ours:    []string{"graph", "cas", "nodes/ir", "nodes/command", "nodes/ignore", "nodes/pin", "nodes/tokens", "render", "render/page"},
		outside: []string{"github.com/BurntSushi/toml", "go.yaml.in/yaml/v3", "github.com/adrg/frontmatter"},
		never:   noFiles,
	},
	"eval": {ours: []string{"graph", "cas"}, outside: []string{"golang.org/x/sync/", "golang.org/x/sys/unix", "golang.org/x/sys/windows"}, never: noNetwork},
	// What is fetched from strangers is fetched by another program, which alone has
	// the network (D-35).
	"eval/module/protocol": {never: noNetwork},
	"eval/module":          {ours: []string{"cas", "graph", "nodes/pin", "eval/module/protocol", "eval/process"}, outside: []string{"golang.org/x/sys"}, never: noNetwork},
	"eval/vcs":             {ours: []string{"cas", "graph", "nodes/pin", "eval/process"}, never: noNetwork},
	"eval/process":         {outside: []string{"golang.org/x/sys"}, never: noNetwork},
	"eval/state":           {ours: []string{"cas", "nodes/pin"}, never: noNetwork},
	"eval/guard":           {ours: []string{"cas", "graph", "eval/process", "eval/state"}, outside: []string{"golang.org/x/sys"}, never: noNetwork},
	"": {
		ours:  []string{"cas", "graph", "eval", "eval/guard", "eval/module", "eval/module/protocol", "eval/state", "eval/vcs", "mcp/harness", "nodes", "nodes/ir", "nodes/pin", "nodes/tokens", "render", "render/page"},
		never: noNetwork,
	},
	"mcp/harness": {outside: []string{"github.com/zeebo/blake3"}, never: noFiles},
	// A transport: what it answers it asks the root package, and it reads no file.
	"mcp":     {ours: []string{"", "nodes/ir", "mcp/rpc"}, never: noFiles},
	"mcp/rpc": {never: noFiles},
	"cmd/mwp": {
		ours:    []string{"", "mcp", "mcp/harness", "nodes/ir"},
		outside: []string{"github.com/peterbourgon/ff/v3", "golang.org/x/sys/unix", "golang.org/x/term"},
		never:   noNetwork,
	},
	"cmd/mwp-git": {
		ours: []string{"nodes/pin", "eval/module/protocol"},
		outside: []string{
			"github.com/go-git/go-git/v5", "github.com/go-git/go-billy/v5",
			"golang.org/x/crypto", "golang.org/x/text", "golang.org/x/net",
		},
	},
	// It builds the other two and packs them; it is not packed itself.
	"cmd/mwp-release": {never: noNetwork},
	"bench":           {ours: []string{"*"}, never: noNetwork},
}

// notBuilt are folders whose Go files are not part of the product.
var notBuilt = []string{"testdata", ".git", "examples"}

func TestImportDirections(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(notBuilt, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(p))
		if dir == "." {
			dir = ""
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if strings.Contains(string(src), "//go:build ignore") {
			return nil
		}
		r, ok := rooms[dir]
		if !ok {
			t.Errorf("%s: package %q is in no row of the table", p, dir)
			return nil
		}
		seen[dir] = true
		f, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why := r.refuses(name); why != "" {
				t.Errorf("%s imports %s: %s", p, name, why)
			}
		}
		if slices.Contains(r.never, "time.Now") && strings.Contains(string(src), "time.Now(") {
			t.Errorf("%s calls time.Now", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range rooms {
		if !seen[dir] {
			t.Errorf("the table has a row for %q, which holds no Go files", dir)
		}
	}
}

func (r room) refuses(name string) string {
	if name == module || strings.HasPrefix(name, module+"/") {
		ours := strings.TrimPrefix(strings.TrimPrefix(name, module), "/")
		if slices.Contains(r.ours, "*") || slices.Contains(r.ours, ours) {
			return ""
		}
		return "not a direction that this package may import in"
	}
	if strings.Contains(strings.Split(name, "/")[0], ".") {
		for _, o := range r.outside {
			if name == o || strings.HasSuffix(o, "/") && strings.HasPrefix(name, o) || strings.HasPrefix(name, o+"/") {
				return ""
			}
		}
		return "not one of the modules this package may use"
	}
	if slices.Contains(r.never, name) || slices.Contains(r.never, "net") && strings.HasPrefix(name, "net/") && path.Base(name) != "url" {
		return "never in this package"
	}
	return ""
}
