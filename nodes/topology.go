package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// rootCandidate is the workspace anchor's own entry (D-10).
func rootCandidate(r graph.Reader, a AnchorValue, ws *ConfigFileValue) (Candidate, error) {
	k := Candidate{
		ID: ".", Source: a.Workspace, Real: a.WorkspaceConfig, Dir: ".", Anchor: true, Placed: true, Priority: defaultPriority, Scope: "recursive",
		Reason: "the workspace's anchor: name, description and topology", Rule: "anchor",
	}
	if ws == nil {
		return k, nil
	}
	c := &ws.Config
	k.Name = c.Name
	if !c.SuppliesIdentity() {
		if c.Name == "" {
			k.leaveOut(ir.Empty, "empty", "the anchor declares neither name nor description nor directories nor members")
		}
		k.Text = identityText(c.Name, "")
		return k, nil
	}
	var err error
	k.Text, err = topologyText(r, c)
	return k, err
}

// memberCandidate is a member anchor's entry (D-10).
func memberCandidate(a AnchorValue, c *Config) Candidate {
	k := Candidate{
		ID: a.Project, Source: a.Project, Real: a.ProjectConfig, Name: c.Name, Dir: a.Sub, Anchor: true, Placed: true, Layer: 1,
		Priority: defaultPriority, Scope: "recursive", Depth: depth(a.Sub), Text: identityText(c.Name, c.Description),
		Reason: "the member's anchor: name and description; layer 1", Rule: "anchor",
	}
	if k.Text == "" {
		k.leaveOut(ir.Empty, "empty", "the member's anchor declares neither name nor description")
	}
	return k
}

func identityText(name, description string) string {
	switch {
	case name == "" && description == "":
		return ""
	case description == "":
		return name + "\n"
	case name == "":
		return description + "\n"
	}
	return name + ": " + description + "\n"
}

// topologyText is the overview that a root anchor supplies: its description, one
// line for each [directories] key, then the members without one (D-10).
func topologyText(r graph.Reader, c *Config) (string, error) {
	isDir, err := directoryKeys(r, c)
	if err != nil {
		return "", err
	}
	var lines []string
	listed := map[string]bool{}
	for _, d := range c.Directories {
		listed[d.Key] = true
		line := "- " + d.Key
		if isDir[d.Key] {
			line += "/"
		}
		if d.Role != "" {
			line += " — " + d.Role
		}
		if len(d.Stack) > 0 {
			line += " [" + strings.Join(d.Stack, ", ") + "]"
		}
		lines = append(lines, line)
	}
	var members []string
	for _, m := range c.Members {
		m = strings.TrimSuffix(strings.TrimPrefix(m, "./"), "/")
		literal := !strings.ContainsAny(m, "*?[")
		if strings.HasPrefix(m, "!") || listed[m] || literal && !MemberMatch(c.Members, m) {
			continue
		}
		if literal {
			m += "/"
		}
		members = append(members, m)
	}
	slices.SortFunc(members, ir.ComparePaths)
	for _, m := range slices.Compact(members) {
		lines = append(lines, "- "+m+" — member")
	}
	text := identityText(c.Name, c.Description)
	if len(lines) > 0 {
		if text != "" {
			text += "\n"
		}
		text += strings.Join(lines, "\n") + "\n"
	}
	return text, nil
}

// directoryKeys tells which [directories] keys are directories, with one probe
// for each directory that holds some.
func directoryKeys(r graph.Reader, c *Config) (map[string]bool, error) {
	names := map[string][]string{}
	var dirs []string
	for _, d := range c.Directories {
		p := parent(d.Key)
		if names[p] == nil {
			dirs = append(dirs, p)
		}
		names[p] = append(names[p], base(d.Key))
	}
	probes := make([]graph.Probe, len(dirs))
	for i, d := range dirs {
		probes[i] = graph.NewProbe(d, names[d]...)
	}
	states, err := graph.NeedAll(r, probes)
	if err != nil {
		return nil, err
	}
	isDir := map[string]bool{}
	for i, d := range dirs {
		for j, name := range names[d] {
			isDir[join(d, name)] = states[i].Types[j] == graph.Directory
		}
	}
	return isDir, nil
}
