package mcp

import "encoding/json"

// prompt is one prompt; clients make commands of them.
type prompt struct {
	name, title, about string
	// target is set for the prompt that takes one.
	target bool
	// text is what the user is made to say, with %s for the target.
	before, after string
}

// prompts name the tool to call in place of bringing a map: then it comes with what was
// sent before in mind.
func prompts() []prompt {
	return []prompt{
		{
			name: "orient", title: "Orient yourself in this workspace", about: "Load the project's orientation map.",
			before: "Call map_workspace with no arguments and follow what it says.",
		},
		{
			name: "focus", title: "Focus on a file or directory", about: "Load the rules for one place before working there.", target: true,
			before: "Call map_workspace with the target ", after: " and keep to its rules while you work there.",
		},
	}
}

func (s *server) listPrompts(q *request) (*result, error) {
	if err := q.onlyPage(); err != nil {
		return nil, err
	}
	var all [][]byte
	for _, p := range prompts() {
		r := newResult()
		r.text("name", p.name)
		r.text("title", p.title)
		r.text("description", p.about)
		if p.target {
			a := newResult()
			a.text("name", "target")
			a.text("description", "file or directory, relative to the root")
			a.raw("required", []byte("true"))
			r.list("arguments", [][]byte{a.close()})
		}
		all = append(all, r.close())
	}
	r := newResult()
	r.list("prompts", all)
	r.cache = static
	return r, nil
}

func (s *server) getPrompt(q *request) (*result, error) {
	name, err := q.stringParam("name")
	if err != nil {
		return nil, err
	}
	for _, p := range prompts() {
		if p.name == name {
			return p.get(q.params["arguments"])
		}
	}
	return nil, invalid("there is no prompt " + quoted(name) + "; there are orient and focus")
}

func (p *prompt) get(raw json.RawMessage) (*result, error) {
	var takes schema
	if p.target {
		takes = schema{targetArgument("")}
	}
	args, err := takes.check(p.name, raw)
	if err != nil {
		return nil, err
	}
	text := p.before
	if target, given := args.text("target"); given {
		text += quoted(target) + p.after
	}
	content := newResult()
	content.text("type", "text")
	content.text("text", text)
	message := newResult()
	message.text("role", "user")
	message.raw("content", content.close())
	r := newResult()
	r.text("description", p.about)
	r.list("messages", [][]byte{message.close()})
	return r, nil
}
