package mwp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A ciStep is a step of a composite action, as far as ours go.
type ciStep struct {
	Name, ID, If, Shell, Uses, Run string
	Dir                            string            `yaml:"working-directory"`
	Env, With                      map[string]string `yaml:",omitempty"`
}

// A ciAction is action.yml.
type ciAction struct {
	Inputs map[string]struct {
		Description string
		Default     *string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []ciStep
	}
}

func readAction(t *testing.T) *ciAction {
	t.Helper()
	var a ciAction
	if err := yaml.Unmarshal(readFile(t, "action.yml"), &a); err != nil {
		t.Fatalf("action.yml: %v", err)
	}
	return &a
}

// A ciRunner stands for a machine of GitHub's: a checkout, a home and a temporary
// directory of its own. The actions that ours uses are played: a cache is a directory
// that runs share.
type ciRunner struct {
	t *testing.T
	// workspace, temp and home are this run's; caches outlives it.
	workspace, temp, home, caches string
	path                          []string
	env                           []string
	inputs, event                 map[string]string

	outcomes map[string]string
	outputs  map[string]map[string]string
	failed   bool
	log      strings.Builder
	// saved and restored are the keys that were; uploaded is what would be an artefact.
	saved, restored string
	uploaded        string
	ran             []string
}

// play runs the steps, or only those named when there are names.
func (r *ciRunner) play(a *ciAction, only ...string) {
	r.t.Helper()
	r.outcomes, r.outputs = map[string]string{}, map[string]map[string]string{}
	for _, f := range []string{"output", "path", "summary"} {
		writeFile(r.t, filepath.Join(r.temp, f), "")
	}
	for _, s := range a.Runs.Steps {
		if len(only) > 0 && !slices.Contains(only, s.ID) {
			continue
		}
		condition := s.If
		if condition == "" {
			condition = "success()"
		}
		outcome := "skipped"
		if r.value(condition) == "true" {
			outcome = r.step(s)
			r.ran = append(r.ran, s.Name)
		}
		r.failed = r.failed || outcome == "failure"
		r.outcomes[s.ID] = outcome
	}
}

// step runs one step and returns its outcome.
func (r *ciRunner) step(s ciStep) string {
	r.t.Helper()
	if s.Uses != "" {
		with := map[string]string{}
		for k, v := range s.With {
			with[k] = r.interpolate(v)
		}
		return r.use(s, with)
	}
	script := filepath.Join(r.temp, "step.sh")
	writeFile(r.t, script, s.Run)
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	c.Dir = filepath.Join(r.workspace, filepath.FromSlash(r.interpolate(s.Dir)))
	// By PWD a shell knows a directory by the name of a link that leads to it.
	c.Env = append(r.environment(), "PWD="+c.Dir)
	for k, v := range s.Env {
		c.Env = append(c.Env, k+"="+r.interpolate(v))
	}
	out, err := c.CombinedOutput()
	fmt.Fprintf(&r.log, "## %s\n%s", s.Name, out)
	r.outputs[s.ID] = map[string]string{}
	for _, line := range lines(string(readFile(r.t, filepath.Join(r.temp, "output")))) {
		if k, v, ok := strings.Cut(line, "="); ok {
			r.outputs[s.ID][k] = v
		}
	}
	writeFile(r.t, filepath.Join(r.temp, "output"), "")
	for _, line := range lines(string(readFile(r.t, filepath.Join(r.temp, "path")))) {
		if line != "" {
			r.path = append([]string{line}, r.path...)
		}
	}
	writeFile(r.t, filepath.Join(r.temp, "path"), "")
	if err != nil {
		return "failure"
	}
	return "success"
}

func (r *ciRunner) environment() []string {
	action, err := filepath.Abs(".")
	if err != nil {
		r.t.Fatal(err)
	}
	env := append(ciEnvironment(r.home, r.path), r.env...)
	return append(env, "CI=true", "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+action, "GITHUB_WORKSPACE="+r.workspace, "RUNNER_TEMP="+r.temp,
		"GITHUB_OUTPUT="+filepath.Join(r.temp, "output"), "GITHUB_PATH="+filepath.Join(r.temp, "path"), "GITHUB_STEP_SUMMARY="+filepath.Join(r.temp, "summary"))
}

// ciEnvironment is nobody's, with programs of path in front.
func ciEnvironment(home string, path []string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !slices.ContainsFunc([]string{"MWP_", "GIT_", "XDG_", "GITHUB_", "RUNNER_", "NO_COLOR", "CLICOLOR"}, func(p string) bool { return strings.HasPrefix(e, p) }) {
			env = append(env, e)
		}
	}
	env = append(env, readmeCommitter...)
	env = append(env, ciGoEnvironment()...)
	list := strings.Join(append(slices.Clone(path), os.Getenv("PATH")), string(os.PathListSeparator))
	return append(env, "PATH="+list, "HOME="+home)
}

// ciGoEnvironment keeps what Go has built and fetched, which is below the home of
// whoever runs the tests.
var ciGoEnvironment = sync.OnceValue(func() []string {
	var env []string
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return env
})

// use plays one of GitHub's actions.
func (r *ciRunner) use(s ciStep, with map[string]string) string {
	r.t.Helper()
	name, _, _ := strings.Cut(s.Uses, "@")
	switch name {
	case "actions/cache/restore":
		key := with["key"]
		r.outputs[s.ID] = map[string]string{"cache-primary-key": key}
		r.restored = r.cached(key, with["restore-keys"])
		if r.restored == key {
			r.outputs[s.ID]["cache-hit"] = "true"
		}
		if r.restored != "" {
			r.copyPaths(with["path"], filepath.Join(r.caches, r.restored), r.workspace)
		}
	case "actions/cache/save":
		r.saved = with["key"]
		to := filepath.Join(r.caches, r.saved)
		if err := os.Mkdir(to, 0o777); err != nil {
			r.t.Fatalf("a cache is saved twice: %v", err)
		}
		r.copyPaths(with["path"], r.workspace, to)
	case "actions/upload-artifact":
		r.uploaded = with["path"]
	default:
		r.t.Fatalf("the test does not know %s", s.Uses)
	}
	return "success"
}

// cached returns the name of the cache for a key, else of the last one with a prefix.
func (r *ciRunner) cached(key, prefixes string) string {
	entries, err := os.ReadDir(r.caches)
	if err != nil {
		r.t.Fatal(err)
	}
	found := ""
	for _, e := range entries {
		if e.Name() == key {
			return key
		}
		if strings.HasPrefix(e.Name(), strings.TrimSpace(prefixes)) {
			found = e.Name()
		}
	}
	return found
}

// copyPaths copies the directories that there are. Every file gets a new time.
func (r *ciRunner) copyPaths(paths, from, to string) {
	r.t.Helper()
	for _, p := range lines(paths) {
		if _, err := os.Stat(filepath.Join(from, p)); p == "" || err != nil {
			continue
		}
		if err := os.CopyFS(filepath.Join(to, p), os.DirFS(filepath.Join(from, p))); err != nil {
			r.t.Fatal(err)
		}
	}
}

var ciExpression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

func (r *ciRunner) interpolate(text string) string {
	r.t.Helper()
	return ciExpression.ReplaceAllStringFunc(text, func(m string) string { return r.value(ciExpression.FindStringSubmatch(m)[1]) })
}

var ciToken = regexp.MustCompile(`'[^']*'|&&|\|\||==|!=|!|\(|\)|[\w.-]+`)

// value evaluates an expression: names, strings, ==, !=, !, && and || without
// parentheses, which the action does without. Everything is a string, as in a script.
func (r *ciRunner) value(expression string) string {
	r.t.Helper()
	if m := ciExpression.FindStringSubmatch(expression); m != nil {
		expression = m[1]
	}
	tokens := ciToken.FindAllString(expression, -1)
	truth := func(s string) bool { return s != "" && s != "false" }
	term := func(ts []string) string {
		not := false
		for len(ts) > 0 && ts[0] == "!" {
			not, ts = !not, ts[1:]
		}
		v := r.name(ts[0])
		rest := ts[1:]
		if len(rest) >= 2 && rest[0] == "(" {
			rest = rest[2:]
		}
		if len(rest) == 2 {
			v = fmt.Sprint((v == r.name(rest[1])) == (rest[0] == "=="))
		} else if len(rest) > 0 {
			r.t.Fatalf("the test cannot evaluate %q", expression)
		}
		if not {
			v = fmt.Sprint(!truth(v))
		}
		return v
	}
	last := ""
	for _, either := range split(tokens, "||") {
		all := true
		for _, both := range split(either, "&&") {
			last = term(both)
			all = all && truth(last)
			if !all {
				break
			}
		}
		if all {
			return last
		}
	}
	return last
}

func split(tokens []string, at string) [][]string {
	out := [][]string{{}}
	for _, t := range tokens {
		if t == at {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

func (r *ciRunner) name(n string) string {
	r.t.Helper()
	part := strings.Split(n, ".")
	switch {
	case strings.HasPrefix(n, "'"):
		return strings.Trim(n, "'")
	case n == "success":
		return fmt.Sprint(!r.failed)
	case n == "cancelled":
		return "false"
	case n == "runner.os":
		return "Linux"
	case part[0] == "inputs" && len(part) == 2:
		v, ok := r.inputs[part[1]]
		if !ok {
			r.t.Fatalf("there is no input %s", n)
		}
		return v
	case part[0] == "github":
		return r.event[n]
	case part[0] == "steps" && len(part) == 3 && part[2] == "outcome":
		return r.outcomes[part[1]]
	case part[0] == "steps" && len(part) == 4 && part[2] == "outputs":
		return r.outputs[part[1]][part[3]]
	}
	r.t.Fatalf("the test does not know the name %s", n)
	return ""
}
