package render

import (
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func ref[T any](v T) *T { return &v }

// sdkMap is the worked example of the proposal's section 4.1.
func sdkMap() *ir.Map {
	return &ir.Map{
		SchemaVersion: "1",
		Kind:          ir.KindFocused,
		Target:        ref("dev/browser-sdk/src/client.ts"),
		Root:          "/srv/project",
		Anchors:       ir.Anchors{Workspace: ".mwp"},
		Layers: ir.Layers{
			L0: []ir.Entry{{
				ID: "dev", Source: "dev/.mwp-context.md", Layer: 0, Priority: 50, Tokens: 17,
				BodyMarkdown: "Browser SDK for the EU logistics platform. Primary interface for carrier\nand shipper integrations.\n",
			}},
			L1: []ir.Entry{{
				ID: "dev/browser-sdk", Source: "dev/browser-sdk/.mwp-context.md", Layer: 1, Priority: 50, Tokens: 21,
				BodyMarkdown: "Owns the TypeScript → Rust API boundary.\nBundle size constraint: < 50 KB compressed.\n",
				GuardStatus:  ref("passed"), Owners: []string{"team-sdk"},
				Guards: []ir.Guard{{Key: "blake3:b1", Name: "bundle-size-check.sh", Cmd: "./bundle-size-check.sh", Status: "passed"}},
			}},
		},
		Budgets:      ir.Budgets{L0: ref(800), L1: ref(300)},
		TokenCounter: "o200k_base",
		Totals:       ir.Totals{L0: 17, L1: 21, All: 38, RenderedTokens: 190},
		Verifications: []ir.Verification{{
			Key: "blake3:b1", Guard: "./bundle-size-check.sh", Status: "passed", ExitCode: ref(0),
			RanAt: "2026-05-17T10:42:11Z", CacheUntil: "2026-05-17T10:52:11Z",
		}},
		Trace: []ir.TraceRecord{
			{Source: "dev/browser-sdk/.mwp-context.md", SourcePath: "dev/browser-sdk/.mwp-context.md", Layer: ref(1), Priority: ref(50),
				Reason: "context file on the way to the target, layer 1 (inferred: depth 2, base 1)", Rule: "cascade", Tokens: 21, Status: ir.Included, Owners: []string{"team-sdk"}},
			{Source: "dev/.mwp-context.md", SourcePath: "dev/.mwp-context.md", Layer: ref(0), Priority: ref(50),
				Reason: "context file on the way to the target, layer 0 (inferred: the first one, base 1)", Rule: "cascade", Tokens: 17, Status: ir.Included},
			{Source: ".mwp", SourcePath: ".mwp", Layer: ref(0), Reason: "the anchor has no description and another entry is L0", Rule: "anchor", Status: ir.Empty},
		},
	}
}

// engineMap has every kind of entry, a failing guard and every section.
func engineMap() *ir.Map {
	return &ir.Map{
		SchemaVersion: "1",
		Kind:          ir.KindFocused,
		Target:        ref("engine/src"),
		Anchors:       ir.Anchors{Workspace: ".mwp/config.toml", Project: "engine/.mwp"},
		ReadOnly:      true,
		Layers: ir.Layers{
			L0: []ir.Entry{
				{ID: ".", Source: ".mwp/config.toml", Name: "myproject", Layer: 0, Priority: 50, Tokens: 20, BodyMarkdown: "`myproject`: Polyglot monorepo\n\n- engine/ — Rust core [rust]\n"},
				{ID: "engine/rules", Source: "engine/rules/.mwp-context.md", Layer: 0, Priority: 40, Tokens: 4, BodyMarkdown: "Second identity\n"},
			},
			L1: []ir.Entry{
				{ID: "engine/.mwp", Source: "engine/.mwp", Name: "engine-core", Layer: 1, Priority: 50, Tokens: 5, BodyMarkdown: "The core.\n"},
				{ID: "engine", Source: "engine/.mwp-context.md", Layer: 1, Priority: 50, Tokens: 9, BodyMarkdown: "- no allocation in the loop\n", GuardStatus: ref("failed"),
					Owners: []string{"team-engine"},
					Guards: []ir.Guard{
						{Key: "blake3:e1", Name: "cargo test", Cmd: "cargo test", Status: "failed"},
						{Key: "blake3:e2", Name: "fmt", Cmd: "cargo fmt --check", Status: "stale"},
						{Key: "blake3:e3", Name: "clippy", Cmd: "cargo clippy", Status: "passed"},
						{Key: "blake3:e4", Name: "deny `x`", Cmd: "cargo deny", Status: "unverified"},
					}},
			},
			L2: []ir.Entry{{ID: "engine/src", Source: "engine/src/.mwp-context.md", Layer: 2, Priority: 50, Tokens: 6, BodyMarkdown: "Stage rules without a final newline"}},
			L3: []ir.Entry{
				{ID: ".mwp/modules/3f2a91cdeadbeef/rules/errors.md", Source: ".mwp/modules/3f2a91cdeadbeef/rules/errors.md", Layer: 3, Priority: 49, Tokens: 8,
					ImportsChain: []string{"engine/.mwp-context.md", ".mwp/modules/3f2a91cdeadbeef/.mwp-module.md"}, BodyMarkdown: "## Errors\n\nUse thiserror.\n",
					Origin: &ir.Origin{Module: "rust-idiomatic", Version: "2.1.0", URL: "https://example.org/r.git", Ref: "v2.1.0", SHA: "3f2a91cdeadbeef", Path: "rules/errors.md"}},
				{ID: "docs/api.md", Source: "docs/api.md", Layer: 3, Priority: 30, Tokens: 2, BodyMarkdown: "API\n"},
			},
			L4: []ir.Entry{{ID: "work/plan.md", Source: "work/plan.md", Layer: 4, Priority: 50, Tokens: 1, BodyMarkdown: "",
				GuardStatus: ref("passed"), Guards: []ir.Guard{{Key: "blake3:e5", Name: "true", Cmd: "true", Status: "passed"}}}},
		},
		SubApplications: []ir.SubApplication{{Name: "legacy", Path: "engine/src/legacy", Role: "old parser", Reason: "CLAUDE.md", Excerpt: "The old parser.\n\nDo not extend it.\n"}},
		Intents:         []ir.Listed{{Path: ".mwp/intents/faster-parser.md"}},
		Pipelines:       []ir.Listed{{Path: ".mwp/pipelines/release.md"}, {Path: ".mwp/modules/3f2a91cdeadbeef/pipelines/audit.md", Module: "rust-idiomatic"}},
		Notes:           []ir.Listed{{Path: ".mwp/discoveries.md"}},
		Budgets:         ir.Budgets{L0: ref(800), L1: ref(10), L3: ref(10)},
		TokenCounter:    "o200k_base",
		Totals:          ir.Totals{L0: 24, L1: 14, L2: 6, L3: 10, L4: 1, All: 55, RenderedTokens: 700},
		Verifications: []ir.Verification{
			{Key: "blake3:e1", Guard: "cargo test", DeclaredIn: "engine/.mwp-context.md:4", Cwd: "engine", Status: "failed", ExitCode: ref(101), RanAt: "2026-05-17T10:42:11Z"},
			{Key: "blake3:e2", Guard: "cargo fmt --check", Status: "stale", Reason: ir.ReasonExpired, ExitCode: ref(0), RanAt: "2026-05-16T08:00:00+02:00"},
			{Key: "blake3:e3", Guard: "cargo clippy", Status: "passed", ExitCode: ref(0), RanAt: "2026-05-17T10:41:00Z"},
			{Key: "blake3:e4", Guard: "cargo deny", Status: "unverified", Reason: ir.ReasonNeverRun},
			{Key: "blake3:e5", Guard: "true", Status: "passed", ExitCode: ref(0), RanAt: "2026-05-17T10:40:00Z"},
		},
		Trace: []ir.TraceRecord{
			{Source: ".mwp/config.toml", SourcePath: ".mwp/config.toml", Layer: ref(0), Priority: ref(50), Reason: "the workspace's anchor supplies identity", Rule: "anchor", Tokens: 20, Status: ir.Included, ByteRange: &[2]int{900, 960}, Digest: "blake3:00aa"},
			{Source: ".mwp/modules/3f2a91cdeadbeef/rules/errors.md", SourcePath: ".mwp/modules/3f2a91cdeadbeef/rules/errors.md", Layer: ref(3), Priority: ref(49), Reason: "imported", Rule: "import-git", ImportsChain: []string{"engine/.mwp-context.md", ".mwp/modules/3f2a91cdeadbeef/.mwp-module.md"}, Tokens: 8, Status: ir.Included, Declared: ".mwp/modules/3f2a91cdeadbeef/.mwp-module.md:7"},
			{Source: "engine/.mwp-context.md", SourcePath: "engine/.mwp-context.md", Layer: ref(1), Priority: ref(50), Reason: "context file on the way to the target, layer 1 (inferred: depth 1, base 0); the directory is the root of a member, which caps it at 1", Rule: "cascade", Tokens: 9, Status: ir.Included, Owners: []string{"team-engine"}},
			{Source: "docs/style.md", SourcePath: "docs/style.md", Layer: ref(3), Priority: ref(29), Reason: "imported again, the declaration closest to the root wins", Rule: "dedup", Tokens: 40, Status: ir.Deduplicated, DeduplicatedBy: "docs/api.md", Declared: "engine/.mwp-context.md:5"},
			{Source: "docs/history.md", SourcePath: "docs/history.md", Layer: ref(3), Priority: ref(5), Reason: "L3 is over its cap and this has the lowest priority", Rule: "budget", Tokens: 4000, Status: ir.DroppedByBudget, Declared: "engine/.mwp-context.md:6"},
			{Source: "engine/src/legacy", SourcePath: "engine/src/legacy", Reason: "CLAUDE.md belongs to another tool", Rule: "boundary", Status: ir.Boundary},
			{Source: "docs/gone.md", SourcePath: "docs/gone.md", Reason: "no such file", Rule: "import-local", Status: ir.Unresolved, Declared: "engine/.mwp-context.md:8"},
		},
		Warnings: []ir.Diagnostic{
			{Code: ir.BudgetOverrun, Severity: ir.SeverityError, Message: "L1 has 14 tokens, cap 10: engine/.mwp-context.md 9 (owner: team-engine), engine/.mwp 5", Hint: "shorten an entry or raise [budgets] l1"},
			{Code: ir.TargetMissing, Severity: ir.SeverityWarning, Source: "engine/src", Message: "the target does not exist yet"},
		},
	}
}

// orientationMap is a map without a target.
func orientationMap() *ir.Map {
	return &ir.Map{
		SchemaVersion: "1",
		Kind:          ir.KindOrientation,
		Anchors:       ir.Anchors{Workspace: ".mwp"},
		Layers: ir.Layers{L0: []ir.Entry{
			{ID: ".", Source: ".mwp", Name: "myproject", Layer: 0, Priority: 50, Tokens: 9, BodyMarkdown: "`myproject`: Polyglot monorepo\n"},
			{ID: ".mwp-context.md", Source: ".mwp-context.md", Layer: 0, Priority: 50, Tokens: 3, BodyMarkdown: "House rules.\n"},
		}},
		Directories: []ir.Directory{
			{Name: "engine-core", Path: "engine", Role: "Rust processing core", Reason: "member"},
			{Name: "docs", Path: "docs", Reason: "context"},
		},
		SubApplications: []ir.SubApplication{{Name: "legacy", Path: "legacy", Reason: "AGENTS.md"}},
		Notes:           []ir.Listed{{Path: ".mwp/discoveries.md"}, {Path: ".mwp/topology.md"}},
		TokenCounter:    "o200k_base",
		Totals:          ir.Totals{L0: 12, All: 12},
		Trace: []ir.TraceRecord{
			{Source: "docs/.mwp-context.md", SourcePath: "docs/.mwp-context.md", Layer: ref(1), Reason: "an orientation map carries L0 only", Rule: "kind", Status: ir.ExcludedByKind},
		},
	}
}

// deltaMap is engineMap as a second answer of a session.
func deltaMap() *ir.Map {
	m := engineMap()
	m.Layers.L0, m.Layers.L3 = m.Layers.L0[:0], nil
	m.Layers.L1 = m.Layers.L1[:1]
	m.Delta = &ir.Delta{Session: "s1", Mode: "delta", Sent: []string{"engine/.mwp"}, Skipped: []string{".", "engine", "docs/unknown.md"}}
	return m
}

// signalsMap has what was found by name, with names that could be taken for more.
func signalsMap() *ir.Map {
	m := sdkMap()
	m.Signals = []ir.Signal{
		{Kind: ir.SignalTest, Path: "dev/browser-sdk/src/client.test.ts", Rule: "*.test.ts"},
		{Kind: ir.SignalTest, Path: "dev/a<b>\n## L0 - c/__tests__/client.ts", Rule: "__tests__/*.ts"},
		{Kind: ir.SignalSource, Path: "dev/`x`.ts", Rule: "*.test.ts"},
	}
	return m
}

func sampleMaps() map[string]*ir.Map {
	return map[string]*ir.Map{"sdk": sdkMap(), "engine": engineMap(), "orientation": orientationMap(), "delta": deltaMap(), "guards": guardsMap(), "signals": signalsMap(), "bare": {SchemaVersion: "1", Kind: ir.KindFocused, Target: ref("x")}}
}

var sampleClock = time.Date(2026, 5, 17, 10, 50, 30, 0, time.UTC)
