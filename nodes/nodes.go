// Package nodes holds the kinds that a workspace map is computed from, one file
// each: what anchors a target, which configuration applies, which directories
// and context files lie on its path, what their headers say, which layer, order
// and budget that makes, and the map and its rendered text at the end.
//
// Kinds are pure: a Compute sees what it asked for and nothing else. The package
// may not touch files, processes, the network or the clock; the evaluator reads
// the world for it.
package nodes

import "github.com/model-workspace-protocol/mwp/graph"

// Kinds lists every kind that can occur in a map's graph, leaves first. The
// evaluator rebuilds recorded nodes by it; a kind that is not listed cannot be
// served from a cache.
func Kinds() []*graph.Kind {
	return append(graph.Leaves(),
		parsedKind, tokenCountKind, configFileKind, lockFileKind, pinKind, moduleTreeKind, anchorKind, settingsKind,
		effectiveKind, cascadeKind, contextKind, measureKind, sectionsKind, importsKind, closureKind, layersKind, signalsKind, surroundingsKind, budgetKind, mapKind, renderedKind,
		ignoreFileKind, ignoreAboveKind, ignoredKind, instructionsKind, treeKind, chainKind, lintPlaceKind, lintKind, lintTextKind, targetsKind, targetsTextKind,
		trustKind, sourcesKind, guardInputsKind, guardInputsTextKind, checkKind, verificationsKind, guardAccountsKind, placeGuardsKind, guardPlanKind, guardPlanTextKind, trustTablesKind, trustTablesTextKind, overviewKind,
	)
}
