package render

import "github.com/model-workspace-protocol/mwp/nodes/ir"

// guardsMap has a guard in each state that a map can know, one that two entries share
// and one that the entry it belongs to left behind in an earlier answer.
func guardsMap() *ir.Map {
	checks := []ir.Verification{
		{Guard: "cargo test", Status: ir.FailedCheck, ExitCode: ref(101), DurationMS: 3421, RanAt: "2026-05-17T10:42:11.250Z", CacheUntil: "2026-05-17T10:52:11.250Z", FilesChanged: true},
		{Guard: "./slow.sh", Status: ir.FailedCheck, Reason: ir.ReasonTimeout, DurationMS: 600_000, RanAt: "2026-05-17T10:30:00Z", CacheUntil: "2026-05-17T10:40:00Z", Expired: true},
		{Guard: "./crash.sh", Status: ir.FailedCheck, Reason: ir.ReasonSignal, DurationMS: 84, RanAt: "2026-05-17T10:40:00Z"},
		{Guard: "exists docs/api.md", Status: ir.FailedCheck, Reason: ir.ReasonAbsent},
		{Guard: `contains docs/limits.md "50 KB"`, Status: ir.FailedCheck, Reason: ir.ReasonTextAbsent},
		{Guard: "script npm:typecheck", Status: ir.FailedCheck, Reason: ir.ReasonScriptAbsent},
		{Guard: "npm run e2e", Status: ir.FailedCheck, ExitCode: ref(1), DurationMS: 90_500, RanAt: "2026-05-17T10:41:00Z",
			Override: &ir.Override{Reason: "the runner is down", Until: "2026-05-17T14:41:00Z"}},
		{Guard: "cargo fmt --check", Status: ir.Stale, Reason: ir.ReasonExpired, ExitCode: ref(0), RanAt: "2026-05-16T06:00:00Z", CacheUntil: "2026-05-16T06:10:00Z"},
		{Guard: "cargo doc", Status: ir.Stale, Reason: ir.ReasonFilesChanged, ExitCode: ref(0), RanAt: "2026-05-17T10:44:00Z", CacheUntil: "2026-05-17T10:54:00Z"},
		{Guard: "cargo bench", Status: ir.Stale, Reason: ir.ReasonEarly, ExitCode: ref(0), RanAt: "2026-06-17T10:44:00Z", CacheUntil: "2026-06-17T10:54:00Z"},
		{Guard: "./bundle-size-check.sh", Status: ir.Passed, ExitCode: ref(0), DurationMS: 1204, RanAt: "2026-05-17T10:42:00Z", CacheUntil: "2026-05-17T10:52:00Z", Fingerprint: "blake3:f1"},
		{Guard: "exists src", Status: ir.Passed},
		{Guard: "cargo deny", Status: ir.Unverified, Reason: ir.ReasonNeverRun},
		{Guard: "cargo audit", Status: ir.Unverified, Reason: ir.ReasonForeign},
		{Guard: "npm run lint", Status: ir.FailedCheck, ExitCode: ref(2), RanAt: "2026-05-17T10:20:00Z", DeclaredIn: "web/.mwp-context.md:7"},
	}
	var guards []ir.Guard
	for i := range checks {
		v := &checks[i]
		v.Key = "blake3:" + string(rune('a'+i))
		if v.DeclaredIn == "" {
			v.Cwd, v.DeclaredIn = "engine", "engine/.mwp-context.md:4"
			guards = append(guards, ir.Guard{Key: v.Key, Name: v.Guard, Cmd: v.Guard, Status: v.Status})
		}
	}
	guards[1].Name, guards[10].Name = "slow.sh", "bundle-size-check.sh"
	return &ir.Map{
		SchemaVersion: "1", Kind: ir.KindFocused, Target: ref("engine/src"), ReadOnly: true,
		Anchors: ir.Anchors{Workspace: ".mwp"},
		Layers: ir.Layers{
			L1: []ir.Entry{{
				ID: "engine", Source: "engine/.mwp-context.md", Layer: 1, Priority: 50, Tokens: 9, BodyMarkdown: "- no allocation in the loop\n",
				GuardStatus: ref(ir.FailedCheck), Owners: []string{"team-engine"}, Guards: guards,
			}},
			L3: []ir.Entry{{
				ID: "engine/rules.md", Source: "engine/rules.md", Layer: 3, Priority: 49, Tokens: 3, BodyMarkdown: "Use thiserror.\n",
				GuardStatus: ref(ir.FailedCheck), Owners: []string{"ann"}, Guards: guards[:1:1],
			}},
		},
		TokenCounter: "o200k_base", Totals: ir.Totals{L1: 9, L3: 3, All: 12}, Verifications: checks,
		Trace: []ir.TraceRecord{
			{Source: "engine/.mwp-context.md", SourcePath: "engine/.mwp-context.md", Layer: ref(1), Reason: "context file on the way to the target", Rule: "cascade", Tokens: 9, Status: ir.Included},
			{Source: "engine/rules.md", SourcePath: "engine/rules.md", Layer: ref(3), Reason: "imported", Rule: "import-local", Tokens: 3, Status: ir.Included, Declared: "engine/.mwp-context.md:3"},
		},
	}
}

func guardAccounts() []ir.GuardAccount {
	return []ir.GuardAccount{
		{
			Key: "blake3:a", Trust: "builtin", Why: "cargo test is one of mwp's own", Runs: "cargo test",
			Declared: []string{"engine/.mwp-context.md:4", "engine/rules/.mwp-context.md:9"}, Inputs: []string{"engine/.mwp-context.md"}, Whole: true,
			CacheFor: "10m", Timeout: "10m", Log: "/home/ann/.local/state/mwp/logs/3f2a.log", Owners: []string{"team-engine", "bob"},
		},
		{Key: "blake3:d", Trust: "static", Why: "nothing is run", Declared: []string{"engine/.mwp-context.md:6"}, Inputs: []string{"engine/docs/api.md"}},
		{
			Key: "blake3:m", Trust: "ad-hoc", Why: "cargo deny is no builtin and not in [trust] allowed_guards", Runs: "cargo deny",
			Inputs: []string{"engine/.mwp-context.md", "engine/deny.toml"}, CacheFor: "1h", Timeout: "30s",
		},
		{Key: "blake3:k", Trust: "project", Why: "./bundle-size-check.sh is in [trust] allowed_guards of .mwp", Runs: "./bundle-size-check.sh", CacheFor: "10m", Timeout: "10m",
			Inputs: []string{"engine/.mwp-context.md", "engine/bundle-size-check.sh", "engine/src/"}},
		{Key: "blake3:of-another-map", Trust: "project", Why: "never printed"},
	}
}

// sampleVerifyReport has every outcome, and a guard for each sort of detail.
func sampleVerifyReport() *ir.VerifyReport {
	checks := guardsMap().Verifications
	at := func(i int, g ir.VerifiedGuard) ir.VerifiedGuard {
		g.Verification = checks[i]
		return g
	}
	const log = "/home/ann/.local/state/mwp/logs/3f2a.log"
	guards := []ir.VerifiedGuard{
		at(10, ir.VerifiedGuard{Ran: true, Trust: "project", Sources: []string{"engine/.mwp-context.md"}, Log: log}),
		at(0, ir.VerifiedGuard{Ran: true, Trust: "builtin", Why: "cargo test is one of mwp's own", Sources: []string{"engine/.mwp-context.md", "engine/rules.md"}, Owners: []string{"team-engine", "ann"}, Log: log, Hint: "mend what it checks, then run `mwp verify engine/src`"}),
		at(1, ir.VerifiedGuard{Ran: true, Owners: []string{"team-engine"}}),
		at(3, ir.VerifiedGuard{Trust: "static", Hint: "mend what it names, or the guard"}),
		at(6, ir.VerifiedGuard{}),
		at(7, ir.VerifiedGuard{}),
		at(11, ir.VerifiedGuard{Trust: "static"}),
		at(12, ir.VerifiedGuard{}),
	}
	refused := checks[12]
	refused.Guard, refused.Reason, refused.Cwd = "./deploy-check.sh --all", ir.ReasonNotTrusted, "."
	absent := checks[12]
	absent.Guard, absent.Reason = "pytest", ir.ReasonNotFound
	earlier := checks[10]
	earlier.Guard = "true"
	absent.Name, earlier.Name = "unit tests", "nothing at all"
	guards = append(guards,
		ir.VerifiedGuard{Verification: refused, Trust: "ad-hoc", Why: "it is no builtin and not in [trust] allowed_guards", Hint: `allowed_guards = ["./deploy-check.sh --all"]`},
		ir.VerifiedGuard{Verification: absent, Trust: "builtin", Hint: "install pytest"},
		ir.VerifiedGuard{Verification: earlier})
	problems := []ir.Diagnostic{
		{Code: ir.FrontmatterInvalid, Severity: ir.SeverityError, Source: "engine/src/.mwp-context.md", Line: 2, Column: 8, Message: `layer: expected 0 to 4, found "x"`, Hint: "layer: 2"},
	}
	return &ir.VerifyReport{Targets: []string{"engine/src"}, Guards: guards, Problems: problems, Notes: []string{"2 guards were left alone: they are current"}}
}
