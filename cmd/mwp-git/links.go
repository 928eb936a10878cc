package main

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// maxLink bounds a link's target, maxHops what one link goes through.
const (
	maxLink = 4096
	maxHops = 40
)

// follow replaces links by copies of the files they lead to, which mean the same
// on systems without links. A link that leaves the module ends it; one to a
// directory, to nothing or to itself is left out with a note.
func (t *tree) follow(ctx context.Context) error {
	targets, err := t.targets(ctx)
	if err != nil {
		return err
	}
	var toDir, toNothing, toItself []string
	for _, p := range t.links {
		at, err := t.resolve(p, targets)
		if err != nil {
			return err
		}
		e, ok := t.entries[at]
		switch {
		case at == p:
			toItself = append(toItself, p)
		case at == ".", ok && e.mode == modeDir, ok && e.mode == modeSubmodule:
			toDir = append(toDir, p)
		case ok:
			t.files = append(t.files, file{p, e.id, e.mode == modeExec})
		default:
			toNothing = append(toNothing, p)
		}
	}
	t.notes = append(t.notes, listed("left out the link to a directory", "left out the links to directories", toDir)...)
	t.notes = append(t.notes, listed("left out the link to nothing", "left out the links to nothing", toNothing)...)
	t.notes = append(t.notes, listed("left out the link that leads in a circle", "left out the links that lead in a circle", toItself)...)
	return nil
}

// targets reads where every link points. It fails on what no link inside a module
// has reason to point to.
func (t *tree) targets(ctx context.Context) (map[string]string, error) {
	targets, read := map[string]string{}, map[string]string{}
	for _, p := range t.links {
		id := t.entries[p].id
		target, ok := read[id]
		if !ok {
			kind, content, err := t.objects.object(ctx, id, maxLink)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", quote(p), err)
			}
			if kind != "blob" {
				return nil, unsafe(p, "is listed as a link and is a "+kind)
			}
			target = string(content)
			read[id] = target
		}
		switch {
		case target == "" || !utf8.ValidString(target) || strings.ContainsFunc(target, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }):
			return nil, unsafe(p, "is a link to "+quote(target)+", which is no plain path")
		case strings.HasPrefix(target, "/") || len(target) > 1 && target[1] == ':':
			return nil, unsafe(p, "is a link to the absolute path "+quote(target))
		}
		targets[p] = target
	}
	return targets, nil
}

// resolve returns the path that a link leads to, through links on the way as a
// file system would go; "." is the module. A circle leads to the link itself.
func (t *tree) resolve(link string, targets map[string]string) (string, error) {
	at, rest := path.Dir(link), strings.Split(targets[link], "/")
	for hops := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			if at == "." {
				return "", unsafe(link, "is a link out of the module: "+quote(targets[link]))
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		target, ok := targets[next]
		if !ok {
			at = next
			continue
		}
		if hops++; hops > maxHops {
			return link, nil
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}
