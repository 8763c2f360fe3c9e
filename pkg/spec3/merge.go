package spec3

import (
	"slices"
)

// Part is one of the documents that [Merge] joins.
type Part struct {
	// Source names where the document came from, for the error on a conflict.
	Source   string
	Document *Document
}

// Merge joins documents of one group-version, in the order of precedence. Paths
// and components that several have and that are equal are there once. The
// version, info, tags and externalDocs describe and are the first document's;
// every other member of the root object has to be equal where several have it.
// The result depends on the documents and their order alone.
//
// The error is a [*ConflictError] for the first thing that two parts define
// differently.
func Merge(parts ...Part) (*Document, error) {
	if len(parts) == 1 {
		return parts[0].Document, nil
	}
	var out Document
	roots := make([]list, 0, len(parts))
	paths := make([]list, 0, len(parts))
	sections := map[string][]list{}
	var names []section
	for i, p := range parts {
		d := p.Document
		roots = append(roots, list{i, d.root})
		if d.pathsName != nil {
			out.pathsName = firstOf(out.pathsName, d.pathsName)
			paths = append(paths, list{i, d.paths})
		}
		if d.componentsName != nil {
			out.componentsName = firstOf(out.componentsName, d.componentsName)
		}
		for _, s := range d.sections {
			units := s.entries
			if s.whole {
				units = []unit{s.unit}
			}
			if sections[s.name] == nil {
				names = append(names, s)
			}
			sections[s.name] = append(sections[s.name], list{i, units})
		}
	}
	var err error
	if out.root, err = join(parts, roots, "", describing); err != nil {
		return nil, err
	}
	if out.paths, err = join(parts, paths, "/"+pathsMember, nil); err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b section) int { return compareNames(a.name, b.name) })
	for _, s := range names {
		pointer := pointerTo(componentsMember, s.name)
		if s.whole {
			pointer = "/" + componentsMember
		}
		units, err := join(parts, sections[s.name], pointer, nil)
		if err != nil {
			return nil, err
		}
		if s.whole {
			s.unit = units[0]
		} else {
			s.entries = units
		}
		out.sections = append(out.sections, s)
	}
	return assemble(out), nil
}

// describing are the members of the root object that say nothing that another
// document could contradict.
var describing = map[string]bool{"openapi": true, "info": true, "tags": true, "externalDocs": true}

// list is the units that one part has of something.
type list struct {
	part  int
	units []unit
}

// join merges sorted lists of units into one.
func join(parts []Part, lists []list, pointer string, firstWins map[string]bool) ([]unit, error) {
	type owned struct {
		unit
		part int
	}
	var all []owned
	for _, l := range lists {
		for _, u := range l.units {
			all = append(all, owned{u, l.part})
		}
	}
	slices.SortStableFunc(all, func(a, b owned) int { return compareNames(a.name, b.name) })
	out := make([]unit, 0, len(all))
	var last *owned
	for i := range all {
		u := &all[i]
		if last == nil || last.name != u.name {
			out = append(out, u.unit)
			last = u
			continue
		}
		if last.sum != u.sum && !firstWins[u.name] {
			return nil, &ConflictError{
				Pointer: pointer + pointerTo(u.name),
				First:   parts[last.part].Source,
				Second:  parts[u.part].Source,
				Index:   u.part,
			}
		}
	}
	return out, nil
}

func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}
