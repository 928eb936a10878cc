// Package protocol is what mwp and its helper mwp-git say to each other: one JSON
// object on the helper's standard input, which then stays open until the answer is
// there, so that its end means that nobody waits; one object on its standard output;
// progress as lines on its standard error. The helper answers failures in the same way and
// exits with 0; any other exit is a crash.
//
// It holds types and may not do anything.
package protocol

// Operations of a Request.
const (
	// Fetch resolves a reference and writes the module's files.
	Fetch = "fetch"
	// Tags lists the tags of a repository.
	Tags = "tags"
)

// Request asks the helper for one thing.
type Request struct {
	Op string `json:"op"`
	// URL is the repository; Dir the module's directory in it, "" for the root.
	URL string `json:"url"`
	Dir string `json:"dir,omitempty"`
	// Ref is a tag, a branch or a commit in full; "" is the remote's default branch.
	Ref string `json:"ref,omitempty"`
	// Commit is what the reference stood for when it was pinned, "" when it never
	// was. A tag that stands for another one is an error, a branch is not asked.
	Commit string `json:"commit,omitempty"`
	// Floating lets a branch be pinned; Insecure lets http be spoken.
	Floating bool `json:"floating,omitempty"`
	Insecure bool `json:"insecure,omitempty"`
	// Into is an existing empty directory, absolute, for the files.
	Into string `json:"into,omitempty"`
}

// Response is the helper's answer. Error is nil when it did what was asked.
type Response struct {
	// Commit is the full id of the commit, Kind one of pin.Tag, pin.Commit and
	// pin.Branch.
	Commit string `json:"commit,omitempty"`
	Kind   string `json:"kind,omitempty"`
	// Files counts what was written, Bytes its size.
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Notes are sentences about what was left out or looks odd.
	Notes []string `json:"notes,omitempty"`
	// Tags are the answer to Tags, each with the commit it stands for, peeled.
	Tags  []TagName `json:"tags,omitempty"`
	Error *Error    `json:"error,omitempty"`
}

// TagName is one tag.
type TagName struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// Error is why there is no answer.
type Error struct {
	Code string `json:"code"`
	// Message is one sentence without secrets, Hint the next thing to do.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Found is the commit that a moved tag stands for now.
	Found string `json:"found,omitempty"`
}

// Codes of an Error.
const (
	TagMoved    = "tag_moved"
	RefNotFound = "ref_not_found"
	FloatingRef = "floating_ref"
	// Refused is a URL or reference that the helper will not touch.
	Refused = "refused"
	// Unreachable is a remote that does not answer, Denied one that wants other
	// credentials.
	Unreachable = "unreachable"
	Denied      = "denied"
	// Unsafe is a tree with names or links that must not be written, TooLarge one
	// beyond the limits of package pin.
	Unsafe   = "module_unsafe"
	TooLarge = "limit_exceeded"
	// IO is a failure of this machine.
	IO = "io"
)
