package render

import (
	"strings"
	"sync"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// codeSummary returns the sentence that describes a code where a reader has only
// the code; docs/errors.md has the long form. A code without a sentence is described
// by its own words.
func codeSummary(code ir.Code) string {
	if s, ok := codeSummaries()[code]; ok {
		return s
	}
	return strings.ReplaceAll(string(code), "_", " ")
}

// codeSummaries has a row for every code of package ir. A rule's summary says what
// is wrong in general; messages name the file and the value. It is made at first
// use: few runs need it, and a table of this size takes a start as long as a map.
var codeSummaries = sync.OnceValue(func() map[ir.Code]string {
	return map[ir.Code]string{
		ir.NoRoot:                    "There is no project to map: no anchor and no repository.",
		ir.TargetOutsideRoot:         "The target is outside the workspace root.",
		ir.TargetInState:             "The target is in a generated part of the state directory.",
		ir.BoundaryUninitialised:     "A directory on the way belongs to another tool and has no anchor.",
		ir.ConfigInvalid:             "The configuration cannot be read as what it has to be.",
		ir.FrontmatterInvalid:        "A context file's header cannot be read as what it has to be.",
		ir.FrontmatterUnterminated:   "A context file's header is opened and never closed.",
		ir.EncodingInvalid:           "A file is not UTF-8 text.",
		ir.ContextNotRegular:         "Something named like a context file is not a file.",
		ir.ImportKindInvalid:         "An import does not say in one way what it imports.",
		ir.ImportCycle:               "Imports lead back to the file that they start from.",
		ir.LockInvalid:               "The lock of git modules cannot be read as what it has to be.",
		ir.TagMoved:                  "A module's tag no longer names the commit that was pinned.",
		ir.ModuleModified:            "A module's files are not the pinned ones.",
		ir.LimitExceeded:             "A limit of size, depth or number is exceeded.",
		ir.TwoContextFiles:           "A directory has two context files and nothing says which one counts.",
		ir.LinkLoop:                  "Symbolic links lead round in a circle, or through too many of them.",
		ir.Unreadable:                "The operating system does not let a file or directory be read.",
		ir.TargetInvalid:             "The target cannot be a path.",
		ir.SessionInvalid:            "The id cannot name a session.",
		ir.SessionUnknown:            "There is no session with this id.",
		ir.SessionUnusable:           "The record of a session cannot be used.",
		ir.BudgetOverrun:             "A layer has more tokens than its cap.",
		ir.MaxTokensOverrun:          "A context file has more tokens than its own max_tokens.",
		ir.ConfigUnknownKey:          "The configuration has a key that mwp does not know.",
		ir.FrontmatterUnknownKey:     "A context file's header has a key that mwp does not know.",
		ir.NotAMember:                "A project inside a workspace is not one of its members.",
		ir.TargetMissing:             "The target does not exist.",
		ir.StaleContextMD:            "A Markdown context file is ignored beside a YAML one.",
		ir.TokenizerDisagrees:        "A model's own tokenizer would put a layer over its cap.",
		ir.LargeContext:              "A single context file is very large.",
		ir.UnresolvedImport:          "An import leads to nothing.",
		ir.ImportEscapes:             "A local import leaves the directory of the file that declares it.",
		ir.ImportEscapesRoot:         "An import leads out of the workspace root.",
		ir.ImportAbsolute:            "An import names an absolute path.",
		ir.SectionUnknown:            "An import names a heading that its file does not have exactly once.",
		ir.FloatingRef:               "A git import follows a branch and is not pinned.",
		ir.ModuleVersionConflict:     "One module is imported in two versions.",
		ir.LFSPointer:                "A file is a pointer of Git LFS and not its text.",
		ir.HiddenText:                "A file has text that a reader does not see.",
		ir.ImplicitMember:            "A directory is imported like a member and is not one.",
		ir.ScopeIgnored:              "A scope is declared where it has no effect.",
		ir.NonMarkdownImport:         "An imported file is neither Markdown nor plain text.",
		ir.ImportUnclean:             "An import's path is spelled in a roundabout way.",
		ir.ImportSecret:              "An import's URL carries a password or token.",
		ir.ExampleText:               "A context file still has the text that `mwp init` wrote.",
		ir.NotAnchored:               "A map is empty because nothing was set up.",
		ir.ModuleEmpty:               "A module lists nothing, so that importing it brings nothing.",
		ir.ModuleNote:                "Something about a module was odd when it was fetched.",
		ir.ContextBesideInstructions: "A context file stands beside another tool's instruction file.",
		ir.RootContext:               "A context file stands at the project root.",
		ir.ContextNameCase:           "A file has a context file's name in other letter case.",
		ir.ContextClosed:             "A context file is in a closed directory and is never loaded.",
		ir.MapPasted:                 "A context file holds the text of a map.",
		ir.MaxTokensNoEffect:         "A max_tokens has no effect beside its layer's cap.",
		ir.SchemaMissing:             "A YAML context file does not say which schema it follows.",
		ir.MemberMissing:             "An entry of members matches no directory.",
		ir.DirectoryMissing:          "A key of [directories] names no directory.",
		ir.VerifiedPathMissing:       "An entry of verified_paths does not exist.",
		ir.GuardScriptMissing:        "A guard's script does not exist.",
		ir.GuardScriptIgnored:        "A guard's script is ignored by git.",
		ir.GuardScriptMode:           "A guard's script is not executable.",
		ir.NestedWorkspace:           "A workspace lies inside another one.",
		ir.LockUnused:                "The lock pins a module that nothing imports.",
		ir.HarnessCap:                "A map is larger than the tool that will carry it allows.",
		ir.GuardFailed:               "A guard's check does not hold.",
		ir.GuardInvalid:              "A guard's command cannot be run as it is written.",
		ir.GuardStale:                "A guard's last result does not count any more.",
		ir.GuardUnverified:           "A guard has no result that counts.",
		ir.GuardNotTrusted:           "A guard's command is not one that may be run without asking.",
		ir.TrustMismatch:             "A guard declares more trust than the project gives it.",
		ir.RecordDamaged:             "The file of guard results cannot be read as what it has to be.",
		ir.VerifyInGuard:             "A guard runs mwp verify.",
		ir.OverrideRefused:           "A guard cannot be overridden as it was asked.",
		ir.ResultsNotKept:            "What came of guards cannot be written down.",
		ir.TrustDamaged:              "The file of trust decisions cannot be read as what it has to be.",
	}
})
