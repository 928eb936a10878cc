package harness

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/blake3"
)

// Sizes above which a harness does not pass a text on: it puts it into a file and shows
// the model the beginning. Of the others no size is known.
const (
	// claudeLimit counts UTF-16 units of what the hook prints.
	claudeLimit = 10_000
	// codexLimit counts bytes; Codex takes four for a token, and allows 2,500.
	codexLimit = 10_000
)

// Carries reports whether the model reads what a hook answers to this event. In the other
// events a text is an error, or goes to the person.
func (e *Event) Carries() bool {
	switch e.Moment {
	case Started:
		return true
	case Prompted:
		return e.Harness == hookClaude || e.Harness == hookCodex
	case BeforeTool:
		return e.Harness != hookGemini
	case AfterTool:
		return true
	}
	return false
}

// Counts reports whether what an answer carries is sure to have reached the model. Some
// builds of Cursor drop what a hook says at the start of a conversation, without a word.
func (e *Event) Counts() bool { return !(e.Harness == hookCursor && e.Moment == Started) }

// Answer returns what a hook prints for the model to read the text: one JSON object on
// one line.
func (e *Event) Answer(text string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if e.Harness == hookCursor {
		enc.Encode(cursorAnswer{text})
	} else {
		// Codex refuses every other key, and plain text.
		enc.Encode(hookAnswer{hookOutput{e.Name, text}})
	}
	return []byte(b.String())
}

type cursorAnswer struct {
	AdditionalContext string `json:"additional_context"`
}

type hookAnswer struct {
	HookSpecificOutput hookOutput `json:"hookSpecificOutput"`
}

type hookOutput struct {
	HookEventName     string `json:"hookEventName"`
	AdditionalContext string `json:"additionalContext"`
}

// Limit returns how long an answer may be in Size's unit, 0 when no limit is known.
func (e *Event) Limit() int {
	switch e.Harness {
	case hookClaude:
		return claudeLimit
	case hookCodex:
		return codexLimit
	}
	return 0
}

// Size returns the length of an answer as the harness that limits it counts.
func (e *Event) Size(answer []byte) int {
	if e.Harness != hookClaude {
		return len(answer)
	}
	n := 0
	for len(answer) > 0 {
		r, size := utf8.DecodeRune(answer)
		if n++; r > 0xffff {
			n++
		}
		answer = answer[size:]
	}
	return n
}

// SessionID returns the id under which what the reader of this event has is recorded, ""
// when the event names no conversation. It consists of letters, digits, dots and hyphens,
// is the name of no device, and of at most 128 characters (D-64); equal ids stand for
// equal readers. It does not depend on the harness: some run each other's hooks, and the
// second hook has to find what the first one sent.
func (e *Event) SessionID() string {
	if e.Session == "" {
		return ""
	}
	id := "hook-" + idPart(e.Session)
	if e.Agent != "" {
		id += "." + idPart(e.Agent)
	}
	return id
}

// idPart returns an id that is safe in a file's name, or its digest. Capital letters are
// not safe: they would make one file of two ids where case does not count, and they mark
// a digest.
func idPart(id string) string {
	unsafe := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if len(id) <= 48 && strings.IndexFunc(id, unsafe) < 0 {
		return id
	}
	// The standard library's digests would be set up at every start of the program.
	sum := blake3.Sum256([]byte(id))
	return "H" + hex.EncodeToString(sum[:16])
}
