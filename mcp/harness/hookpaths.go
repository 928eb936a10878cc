package harness

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Bounds on what is taken from one message. A patch of more files than maxPaths has the
// rest of them mapped when they are touched again.
const (
	maxPaths      = 16
	maxPathLength = 4096
)

// Keys under which tools of the known harnesses name files and directories, and keys
// that hold several.
var (
	pathKeys = []string{
		"file_path", "filePath", "notebook_path", "notebookPath", "path", "absolute_path", "dir_path", "dirPath",
		"target_file", "targetFile", "target_notebook", "target_directory", "relative_workspace_path", "directory",
	}
	listKeys = []string{"files", "paths", "file_paths", "filePaths", "edits", "replacements"}
)

// writers are the tools that change files, by the names of every harness.
var writers = []string{
	"Edit", "MultiEdit", "Write", "NotebookEdit", "Delete", // Claude Code, Cursor
	"apply_patch", "write_file", "replace", "edit_file", "delete_file", // Codex, Gemini CLI
	"create_file", "replace_string_in_file", "multi_replace_string_in_file", "insert_edit_into_file", // VS Code
	"edit_notebook_file", "create_new_jupyter_notebook", "editFiles", "createFile", "create_directory", "createDirectory",
	"edit", "create", "str_replace_editor", "str_replace_based_edit_tool", // Copilot CLI
}

// globbers take a pattern of paths, not of text.
var globbers = []string{"Glob", "glob", "file_search", "fileSearch"}

// readTool takes the paths out of a tool's input, which is an object, an object in a
// string, or a patch.
func (e *Event) readTool(m message) {
	// A tool of an MCP server has the server's name before its own.
	name := e.Tool
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	e.Writes = slices.Contains(writers, name)
	raw := first(m, "tool_input", "toolInput", "toolArgs")
	if s, ok := asString(raw); ok {
		if e.readPatch(s) {
			return
		}
		raw = json.RawMessage(s)
	}
	var input message
	if json.Unmarshal(raw, &input) != nil {
		return
	}
	for _, key := range []string{"command", "input", "patch"} {
		if e.readPatch(input.text(key)) {
			return
		}
	}
	e.addPaths(input)
	if slices.Contains(globbers, name) {
		e.addPattern(input)
	}
}

func first(m message, keys ...string) json.RawMessage {
	for _, k := range keys {
		if m.has(k) {
			return m[k]
		}
	}
	return nil
}

// addPaths adds what an input names under the known keys.
func (e *Event) addPaths(input message) {
	for _, key := range pathKeys {
		e.addPath(input.text(key))
	}
	for _, key := range listKeys {
		raw := bytes.TrimLeft(input[key], " \t\r\n")
		var list []json.RawMessage
		if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
			continue
		}
		for _, item := range list {
			if len(e.Paths) == maxPaths {
				return
			}
			if s, ok := asString(item); ok {
				e.addPath(s)
				continue
			}
			var object message
			if json.Unmarshal(item, &object) == nil {
				for _, key := range pathKeys {
					e.addPath(object.text(key))
				}
			}
		}
	}
}

// addPattern adds the directory in which a pattern's files lie, when the pattern says.
func (e *Event) addPattern(input message) {
	pattern := input.text("pattern", "glob_pattern", "globPattern", "query")
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		pattern = pattern[:i]
	}
	dir := pattern[:strings.LastIndexByte(pattern, '/')+1]
	if dir == "" {
		return
	}
	base := input.text("path", "dir_path", "target_directory")
	if !path.IsAbs(dir) && base != "" {
		dir = strings.TrimRight(base, "/") + "/" + dir
		e.Paths = slices.DeleteFunc(e.Paths, func(p string) bool { return p == base })
	}
	e.addPath(dir)
}

// readPatch adds the files of a patch in the form of Codex, and reports whether the text
// holds one.
func (e *Event) readPatch(text string) bool {
	_, patch, ok := strings.Cut(text, "*** Begin Patch")
	if !ok {
		return false
	}
	e.Writes = true
	for line := range strings.Lines(patch) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(line, mark); ok {
				e.addPath(strings.TrimRight(p, "\r\n"))
			}
		}
	}
	return true
}

// addPath adds a path that can be one. A URL is one when it names a local file.
func (e *Event) addPath(p string) {
	if scheme, _, ok := strings.Cut(p, "://"); ok && scheme != "" && !strings.ContainsAny(scheme, `/\ `) {
		if p, ok = localPath(p); !ok {
			return
		}
	}
	if p == "" || len(p) > maxPathLength || strings.IndexByte(p, 0) >= 0 || len(e.Paths) == maxPaths || slices.Contains(e.Paths, p) {
		return
	}
	e.Paths = append(e.Paths, p)
}

// localPath returns the path of a file URL of this machine; ok is false for any other URL.
// Package net/url would be set up, with net/netip, at every start of the program.
func localPath(url string) (p string, ok bool) {
	scheme, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, _, _ := strings.Cut(rest, "/")
	if !strings.EqualFold(scheme, "file") || host != "" && !strings.EqualFold(host, "localhost") {
		return "", false
	}
	p, ok = unescape(rest[len(host):])
	// The path of file:///C:/x is /C:/x.
	if len(p) > 2 && p[0] == '/' && (p[1]|0x20 >= 'a' && p[1]|0x20 <= 'z') && p[2] == ':' {
		p = p[1:]
	}
	return p, ok
}

// unescape decodes percent-escapes.
func unescape(s string) (string, bool) {
	head, rest, more := strings.Cut(s, "%")
	b := []byte(head)
	for more {
		if len(rest) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(rest[:2])
		if err != nil {
			return "", false
		}
		head, rest, more = strings.Cut(rest[2:], "%")
		b = append(append(b, c...), head...)
	}
	return string(b), true
}
