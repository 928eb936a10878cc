package clienttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scenarios are those of the conformance suite that apply to a server on stdio with
// tools, resources and prompts of its own. Of the others of the suite, as of
// 0.2.0-alpha.12,
//
//   - tools-call-*, json-schema-2020-12, resources-read-text, resources-read-binary,
//     resources-templates-read, prompts-get-*, elicitation-* and the remaining
//     input-required-result-* want tools, resources and prompts of a test server by name,
//   - logging-set-level, resources-subscribe and resources-unsubscribe want capabilities
//     that mwp does not have and does not declare,
//   - server-session-lifecycle, server-sse-*, dns-rebinding-protection and http-* test
//     HTTP, which here is the bridge's,
//   - tasks-* and sep-2640-* are about extensions.
var scenarios = map[string][]string{
	"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "completion-complete"},
	modern: {
		"server-stateless", "tools-list", "resources-list", "prompts-list", "completion-complete",
		"caching", "sep-2164-resource-not-found", "input-required-result-unsupported-methods",
	},
}

// untestable are the checks of server-stateless that call tools of a test server.
var untestable = []string{
	"sep-2575-server-rejects-undeclared-capability",          // test_missing_capability
	"sep-2575-missing-capability-http-400",                   // test_missing_capability
	"sep-2575-http-server-no-independent-requests-on-stream", // test_streaming_elicitation
	"sep-2575-server-no-log-without-loglevel",                // test_logging_tool
}

// check is one line of a scenario's results.
type check struct {
	ID, Status, ErrorMessage string
	Details                  json.RawMessage
}

// TestConformance runs the official suite. Every message is checked against the schema
// of the revision too.
func TestConformance(t *testing.T) {
	n := needNode(t)
	w := newWorkspace(t)
	url := newBridge(t, w.serve)
	for version, names := range scenarios {
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) {
				checks := n.conformance(t, url, version, name)
				passed := 0
				for _, c := range checks {
					switch {
					case c.Status == "SUCCESS":
						passed++
					case c.Status == "SKIPPED", slices.Contains(untestable, c.ID):
						t.Logf("NOT TESTED: %s: %s", c.ID, c.ErrorMessage)
					case c.Status != "INFO":
						t.Errorf("%s: %s: %s\n%s", c.Status, c.ID, c.ErrorMessage, c.Details)
					}
				}
				if passed == 0 {
					t.Errorf("nothing was checked: %+v", checks)
				}
			})
		}
	}
}

// conformance runs a scenario and returns its results.
func (n *nodes) conformance(t *testing.T, url, version, scenario string) (checks []check) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(n.node, n.module("@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--scenario", scenario, "--spec-version", version, "--output-dir", dir)
	c.Dir = n.dir
	out, _ := c.CombinedOutput() // the status repeats the checks
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v:\n%s", files, err, out)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		err = json.Unmarshal(text, &checks)
	}
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

// needNode returns the npm packages, or skips the test.
func needNode(t *testing.T) *nodes {
	t.Helper()
	n := installed(t)
	if n == nil {
		t.SkipNow()
	}
	return n
}

// TestInspector: the inspector's strict mode finds no schema that some client would
// refuse, in either era, and it can call a tool.
func TestInspector(t *testing.T) {
	n := needNode(t)
	inspect := func(t *testing.T, w *workspace, args ...string) (stdout, stderr string) {
		t.Helper()
		server := w.serve()
		all := append([]string{n.module("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"}, server.Args...)
		c := w.command(append(append([]string{n.node}, all...), args...)...)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			t.Errorf("%q: %v\n%s%s", args, err, &out, &errs)
		}
		return out.String(), errs.String()
	}
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			w := newWorkspace(t)
			out, errs := inspect(t, w, "--protocol-era", era, "--method", "tools/list", "--strict")
			if !strings.Contains(out, "map_workspace") || errs != "" {
				t.Errorf("tools/list --strict: %s\nand on stderr: %s", out, errs)
			}
			out, _ = inspect(t, w, "--protocol-era", era, "--method", "tools/call", "--tool-name", "map_workspace",
				"--tool-args-json", `{"target":"`+routes+`"}`, "--format", "json")
			if !strings.Contains(out, "Routes are thin.") {
				t.Errorf("tools/call: %s", out)
			}
		})
	}
}
