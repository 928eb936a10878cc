package harness

import "strings"

// Client is a program that carries maps to a model, with the files that tell it about
// mwp (D-114).
type Client struct {
	// Name is what the command line calls it, Title what people do.
	Name, Title string
	// Files are those of a project, for the server first and then for hooks. User is the
	// file of a client that reads none in projects, with the places it can have.
	Files []File
	User  File
	Where []string
	// Notes are sentences about what else there is to do or to know.
	Notes []string
}

// Setup is what the entries depend on.
type Setup struct {
	// Root is the absolute path of the project, for clients that start programs anywhere.
	Root string
	// Program is the absolute path of mwp, for clients that do not search PATH; "" writes
	// its name only.
	Program string
}

// ClientNames returns the names of all clients, in the order of the documents.
func ClientNames() []string {
	return []string{"claude", "claude-desktop", "cursor", "vscode", "codex", "gemini", "zed", "windsurf", "opencode"}
}

// ClientNamed returns a client; ok is false for a name that is none.
func ClientNamed(name string, s Setup) (c Client, ok bool) {
	switch name {
	case "claude":
		return claude(), true
	case "claude-desktop":
		return claudeDesktop(s), true
	case "cursor":
		return cursor(), true
	case "vscode":
		return vscode(), true
	case "codex":
		return codex(), true
	case "gemini":
		return gemini(), true
	case "zed":
		return zed(s), true
	case "windsurf":
		return windsurf(s), true
	case "opencode":
		return opencode(), true
	}
	return Client{}, false
}

// server is the entry of the MCP server below a key of the root.
func server(under, value string) Entry {
	return Entry{Path: []string{under}, Key: "mwp", Value: value}
}

// rooted returns the arguments that name the root.
func rooted(root string) string { return `["serve-mcp", "--root", ` + quoteJSON(root) + `]` }

// hook is one event with what is called at it.
type hook struct{ event, value string }

// hooks returns the entries of a client's hooks. Each calls the same command, because
// some clients run identical commands once.
func hooks(of string, list ...hook) []Entry {
	entries := make([]Entry, len(list))
	for i, h := range list {
		value := strings.ReplaceAll(h.value, "COMMAND", `"command": "mwp hook `+of+`"`)
		entries[i] = Entry{Path: []string{"hooks", h.event}, Value: value, Mark: "mwp hook"}
	}
	return entries
}

// A map takes milliseconds; the limits are for machines that are busy with a build.
const (
	call        = `{"hooks": [{"type": "command", COMMAND, "timeout": 20}]}`
	callGemini  = `{"hooks": [{"name": "mwp", "type": "command", COMMAND, "timeout": 20000}]}`
	callVSCode  = `{"type": "command", COMMAND, "timeout": 20}`
	callCursor  = `{COMMAND}`
	aboutCursor = `{COMMAND, "matcher": "Read|Write|Delete|Grep"}`
)

// about narrows a call to tools.
func about(tools, call string) string { return `{"matcher": "` + tools + `", ` + call[1:] }

func claude() Client {
	return Client{
		Name: "claude", Title: "Claude Code",
		Files: []File{{
			Names: []string{".mcp.json"},
			// alwaysLoad: a server whose tools are found by search only is used in few sessions.
			Entries: []Entry{server("mcpServers", `{"type": "stdio", "command": "mwp", "args": ["serve-mcp"], "alwaysLoad": true, "timeout": 600000}`)},
		}, {
			Names: []string{".claude/settings.json"},
			Entries: hooks("claude",
				hook{"SessionStart", call},
				hook{"UserPromptSubmit", call},
				hook{"PreToolUse", about("Read|Edit|MultiEdit|Write|NotebookEdit|Glob|Grep|LS", call)},
				hook{"PreCompact", call},
				hook{"SubagentStart", call},
				hook{"SessionEnd", `{"hooks": [{"type": "command", COMMAND}]}`}),
		}},
		Notes: []string{"Claude Code asks once whether the project's server may run; /mcp and /hooks show what it has loaded."},
	}
}

func claudeDesktop(s Setup) Client {
	program := s.Program
	if program == "" {
		program = "mwp"
	}
	return Client{
		Name: "claude-desktop", Title: "Claude Desktop",
		User: File{
			Names:   []string{"claude_desktop_config.json"},
			Entries: []Entry{server("mcpServers", `{"command": `+quoteJSON(program)+`, "args": `+rooted(s.Root)+`}`)},
		},
		Where: []string{
			"~/Library/Application Support/Claude/claude_desktop_config.json (macOS)",
			`%APPDATA%\Claude\claude_desktop_config.json (Windows)`,
		},
		Notes: []string{"Claude Desktop reads its file only when it starts."},
	}
}

func cursor() Client {
	return Client{
		Name: "cursor", Title: "Cursor",
		Files: []File{{
			Names:   []string{".cursor/mcp.json"},
			Entries: []Entry{server("mcpServers", `{"command": "mwp", "args": `+rooted("${workspaceFolder}")+`}`)},
		}, {
			Names: []string{".cursor/hooks.json"}, Head: `"version": 1`, NeedsHead: "version",
			Entries: hooks("cursor",
				hook{"sessionStart", callCursor},
				hook{"preToolUse", aboutCursor},
				hook{"postToolUse", aboutCursor},
				hook{"preCompact", callCursor},
				hook{"sessionEnd", callCursor}),
		}},
		Notes: []string{"Cursor shows the server in its settings, under MCP, where it has to be switched on."},
	}
}

func vscode() Client {
	return Client{
		Name: "vscode", Title: "VS Code",
		Files: []File{{
			Names:   []string{".vscode/mcp.json"},
			Entries: []Entry{server("servers", `{"type": "stdio", "command": "mwp", "args": `+rooted("${workspaceFolder}")+`}`)},
		}, {
			Names: []string{".github/hooks/mwp.json"}, Head: `"version": 1`, NeedsHead: "version",
			Entries: hooks("vscode",
				hook{"SessionStart", callVSCode},
				hook{"PreToolUse", callVSCode},
				hook{"PreCompact", callVSCode},
				hook{"SubagentStart", callVSCode}),
		}},
		Notes: []string{"VS Code asks whether to trust the server when it starts it; the command `MCP: List Servers` shows it."},
	}
}

func codex() Client {
	return Client{
		Name: "codex", Title: "Codex",
		Files: []File{{
			Names: []string{".codex/config.toml"},
			TOML: &Table{
				Path:  []string{"mcp_servers", "mwp"},
				Lines: []string{`command = "mwp"`, `args = ["serve-mcp"]`, `tool_timeout_sec = 600`},
			},
		}, {
			Names: []string{".codex/hooks.json"},
			Entries: hooks("codex",
				hook{"SessionStart", call},
				hook{"UserPromptSubmit", call},
				hook{"PreToolUse", about("apply_patch|Edit|Write", call)},
				hook{"PreCompact", call},
				hook{"SubagentStart", call}),
		}},
		Notes: []string{"Codex reads a project's files only when the project is trusted, and its hooks have to be approved once with /hooks."},
	}
}

func gemini() Client {
	entries := []Entry{server("mcpServers", `{"command": "mwp", "args": ["serve-mcp"], "timeout": 600000}`)}
	return Client{
		Name: "gemini", Title: "Gemini CLI",
		Files: []File{{
			Names: []string{".gemini/settings.json"},
			Entries: append(entries, hooks("gemini",
				hook{"SessionStart", callGemini},
				hook{"AfterTool", about("read_file|read_many_files|list_directory|glob|search_file_content|grep_search|replace|write_file", callGemini)},
				hook{"PreCompress", callGemini},
				hook{"SessionEnd", callGemini})...),
		}},
		Notes: []string{"Gemini CLI reads a project's settings only in a trusted folder; /mcp shows the server."},
	}
}

func zed(s Setup) Client {
	return Client{
		Name: "zed", Title: "Zed",
		Files: []File{{
			Names: []string{".zed/settings.json"},
			// "source" is left out: Zed since the end of 2025 has no such key, and offers to
			// rewrite files that do.
			Entries: []Entry{server("context_servers", `{"command": "mwp", "args": `+rooted(s.Root)+`, "env": {}}`)},
		}},
		Notes: []string{"The file names the root as it is on this machine, because Zed may start a server anywhere: do not commit that line."},
	}
}

func windsurf(s Setup) Client {
	return Client{
		Name: "windsurf", Title: "Windsurf",
		User: File{
			Names:   []string{"mcp_config.json"},
			Entries: []Entry{server("mcpServers", `{"command": "mwp", "args": `+rooted(s.Root)+`}`)},
		},
		Where: []string{
			"~/.codeium/windsurf/mcp_config.json (macOS, Linux)",
			`%USERPROFILE%\.codeium\windsurf\mcp_config.json (Windows)`,
		},
		Notes: []string{"Windsurf has to be told to refresh its servers."},
	}
}

func opencode() Client {
	return Client{
		Name: "opencode", Title: "OpenCode",
		Files: []File{{
			Names: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
			Head:  `"$schema": "https://opencode.ai/config.json"`,
			// "enabled" is left out: absent means yes in version 1, and version 2 has no such key.
			Entries: []Entry{{Path: []string{"mcp"}, Key: "mwp", Inner: "servers", Value: `{"type": "local", "command": ["mwp", "serve-mcp"]}`}},
		}},
		Notes: []string{"`opencode mcp list` shows the server."},
	}
}
