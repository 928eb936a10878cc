package nodes

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	excerptLines = 5
	excerptBytes = 600
	// excerptInput is how far into a file an excerpt looks.
	excerptInput = 64 << 10
)

// Excerpt returns a short text that says what an instruction file is about: the
// description in its header, else its first paragraph that is not a heading, at
// most five lines and 600 bytes, cut at the end of a line or word (N-05). What a
// reader would not see is left out: HTML comments, control characters, invisible
// characters. Any bytes are accepted.
func Excerpt(b []byte) string {
	if len(b) > excerptInput {
		b = b[:excerptInput]
	}
	text := normaliseText(bytes.ToValidUTF8(b, nil))
	parts := splitDocument(text)
	if s := clip(strings.Split(headerDescription(parts.header), "\n")); s != "" {
		return s
	}
	return clip(firstParagraph(withoutComments(string(parts.body))))
}

// headerDescription returns the text of a top-level description. Whose file it is
// decides about the other keys, so nothing else is looked at.
func headerDescription(header []byte) (description string) {
	if !bytes.Contains(header, []byte("description")) {
		return ""
	}
	// See headerReader.parse.
	defer func() {
		if recover() != nil {
			description = ""
		}
	}()
	var doc yaml.Node
	if yaml.NewDecoder(bytes.NewReader(header)).Decode(&doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return ""
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if k, v := pairs[i], pairs[i+1]; k.Value == "description" && v.Kind == yaml.ScalarNode && v.ShortTag() == "!!str" {
			return v.Value
		}
	}
	return ""
}

func withoutComments(s string) string {
	var out strings.Builder
	for {
		text, rest, found := strings.Cut(s, "<!--")
		out.WriteString(text)
		if !found {
			return out.String()
		}
		_, s, _ = strings.Cut(rest, "-->")
	}
}

// firstParagraph returns the lines of the first paragraph, list or quote. Headings
// of both forms, rules and fenced code are passed over.
func firstParagraph(text string) []string {
	var lines []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		shown := strings.TrimSpace(visible(line))
		if fence != "" {
			if strings.HasPrefix(shown, fence) {
				fence = ""
			}
			continue
		}
		switch {
		case strings.HasPrefix(shown, "```"), strings.HasPrefix(shown, "~~~"):
			if len(lines) > 0 {
				return lines
			}
			fence = shown[:3]
		case shown == "", strings.HasPrefix(shown, "#"):
			if len(lines) > 0 {
				return lines
			}
		case isUnderline(shown):
			// Below text this makes a heading of it, anywhere else it is a rule.
			lines = nil
		case len(lines) < excerptLines:
			lines = append(lines, line)
		}
	}
	return lines
}

func isUnderline(line string) bool {
	rest := strings.ReplaceAll(line, " ", "")
	for _, c := range []string{"=", "-", "*", "_"} {
		if strings.Trim(rest, c) == "" && (len(rest) > 2 || c == "=" || c == "-" && rest == line) {
			return true
		}
	}
	return false
}

// clip joins the lines up to the first blank one, within the bounds.
func clip(lines []string) string {
	var out []string
	size := 0
	for _, line := range lines {
		line = strings.TrimRightFunc(visible(line), unicode.IsSpace)
		if len(out) == 0 {
			line = strings.TrimLeftFunc(line, unicode.IsSpace)
		}
		if line == "" {
			if len(out) > 0 {
				break
			}
			continue
		}
		if len(out) == excerptLines {
			break
		}
		if size+len(line) > excerptBytes {
			if len(out) == 0 {
				out = append(out, cutAtWord(line, excerptBytes))
			}
			break
		}
		out = append(out, line)
		size += len(line) + 1
	}
	return strings.Join(out, "\n")
}

// cutAtWord shortens a line to at most limit bytes, at a word's end if it has one.
func cutAtWord(line string, limit int) string {
	end := limit
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	if i := strings.LastIndexFunc(line[:end], unicode.IsSpace); i > 0 && !unicode.IsSpace(rune(line[end])) {
		end = i
	}
	return strings.TrimRightFunc(line[:end], unicode.IsSpace)
}

// visible removes the characters that a reader does not see: an excerpt goes to a
// model from a file that nobody asked to import (D-112).
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == 0x2028, r == 0x2029:
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, line)
}
