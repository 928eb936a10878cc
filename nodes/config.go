package nodes

import (
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Config is the configuration of one anchor (D-02, appendix D). What the file does
// not say is zero, nil or not Set; the defaults are the caller's.
type Config struct {
	Name, Description string
	// Members are patterns, see MemberMatch (D-05).
	Members []string
	// Budgets holds the token caps by layer (D-38).
	Budgets [ir.LayerCount]BudgetSetting
	// Policy is "report", "error" or "drop" (D-38).
	Policy string
	// AllowedGuards are the commands with trust "project" (D-41).
	AllowedGuards []string
	// Directories is sorted by key, as a TOML table has no order (D-02, D-10).
	Directories []DirectorySetting
	Window      *int
	// BoundaryFiles replaces the default set when HasBoundaryFiles is set; an empty
	// list is no boundaries (D-19).
	BoundaryFiles    []string
	HasBoundaryFiles bool
	// BoundaryMode is "opaque", "soft" or "transparent" (D-20).
	BoundaryMode string
	Counter      string
	// GuardTimeout and GuardJobs bound guards (D-43, D-86).
	GuardTimeout  *time.Duration
	GuardJobs     *int
	SessionMaxAge *time.Duration
	// CacheMaxSize is in bytes.
	CacheMaxSize *int64
	// ModulesAllow limits where modules come from when HasModulesAllow is set; an
	// empty list allows none.
	ModulesAllow    []string
	HasModulesAllow bool
	// TestSignals asks for the tests beside a target (D-83).
	TestSignals bool
	// Settings lists every known key that is set, in the order of the file.
	Settings []Setting
}

// BudgetSetting is the cap of one layer: absent, none, or a number of tokens.
type BudgetSetting struct {
	Set  bool
	None bool
	Cap  int
}

// DirectorySetting is one entry of [directories]. Key is a clean relative path; a
// file may be named as well.
type DirectorySetting struct {
	Key, Role string
	Stack     []string
	Shared    bool
	Line      int
}

// Setting is one key with its value as TOML writes it, for `mwp config` (U-27).
type Setting struct {
	Key, Value string
	Line       int
}

// SuppliesIdentity reports whether the anchor says enough to be the base from which
// layers are inferred (D-10): a name alone does not, since `mwp init` writes one.
func (c *Config) SuppliesIdentity() bool {
	return c.Description != "" || len(c.Directories) > 0 || len(c.Members) > 0
}

func codeConfig(c *cas.Coder, v *Config) {
	c.String(&v.Name)
	c.String(&v.Description)
	c.Strings(&v.Members)
	for i := range v.Budgets {
		b := &v.Budgets[i]
		c.Bool(&b.Set)
		c.Bool(&b.None)
		c.Int(&b.Cap)
	}
	c.String(&v.Policy)
	c.Strings(&v.AllowedGuards)
	cas.Slice(c, &v.Directories, func(c *cas.Coder, d *DirectorySetting) {
		c.String(&d.Key)
		c.String(&d.Role)
		c.Strings(&d.Stack)
		c.Bool(&d.Shared)
		c.Int(&d.Line)
	})
	cas.Optional(c, &v.Window, (*cas.Coder).Int)
	c.Strings(&v.BoundaryFiles)
	c.Bool(&v.HasBoundaryFiles)
	c.String(&v.BoundaryMode)
	c.String(&v.Counter)
	cas.Optional(c, &v.GuardTimeout, codeDuration)
	cas.Optional(c, &v.GuardJobs, (*cas.Coder).Int)
	cas.Optional(c, &v.SessionMaxAge, codeDuration)
	cas.Optional(c, &v.CacheMaxSize, (*cas.Coder).Int64)
	c.Strings(&v.ModulesAllow)
	c.Bool(&v.HasModulesAllow)
	c.Bool(&v.TestSignals)
	cas.Slice(c, &v.Settings, func(c *cas.Coder, s *Setting) {
		c.String(&s.Key)
		c.String(&s.Value)
		c.Int(&s.Line)
	})
}
