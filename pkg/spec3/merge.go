package spec3

import "slices"

// Part is one of the documents that [Merge] joins.
type Part struct {
	// Source names where the document came from, for a conflict.
	Source   string
	Document *Document
}

// Merge joins documents of one group-version, of which there has to be one at the
// least, in the order of precedence. Paths and components that several have and
// that are equal are there once. The version, info, tags and externalDocs describe
// and are the first document's; every other member of the root object has to be
// equal where several have it.
//
// A part that defines something differently than a part before it is left out
// whole, and there is one conflict for each such part. What is left out contradicts
// nobody. The result depends on the documents and their order alone, and costs what
// the parts cost.
func Merge(parts ...Part) (merged *Document, conflicts []*ConflictError) {
	merged, conflicts = merge(parts)
	if merged != nil && merged.json == nil {
		merged = assemble(*merged)
	}
	return merged, conflicts
}

// merge is Merge without writing the bytes of what is joined.
func merge(parts []Part) (merged *Document, conflicts []*ConflictError) {
	var accepted []int
	owners := map[unitKey]owner{}
	for i, p := range parts {
		if conflict := p.Document.conflict(parts, owners); conflict != nil {
			conflict.Second, conflict.Index = p.Source, i
			conflicts = append(conflicts, conflict)
			continue
		}
		accepted = append(accepted, i)
		p.Document.each(func(key unitKey, u *unit) {
			if _, taken := owners[key]; !taken {
				owners[key] = owner{i, u}
			}
		})
	}
	if len(accepted) == 0 {
		return nil, nil
	}
	if len(accepted) == 1 {
		return parts[accepted[0]].Document, conflicts
	}
	return join(parts, accepted, owners), conflicts
}

// owner is the part from which a unit is taken.
type owner struct {
	part int
	unit *unit
}

// describing are the members of the root object that say nothing that another
// document could contradict.
var describing = map[string]bool{"openapi": true, "info": true, "tags": true, "externalDocs": true}

// each calls f for every unit, in canonical order within each list. A section that
// is a whole is a unit with the key {"components", NAME}.
func (d *Document) each(f func(key unitKey, u *unit)) {
	for i := range d.root {
		f(unitKey{"", d.root[i].name}, &d.root[i])
	}
	for i := range d.paths {
		f(unitKey{pathsMember, d.paths[i].name}, &d.paths[i])
	}
	for i := range d.sections {
		s := &d.sections[i]
		if s.whole {
			f(unitKey{componentsMember, s.name}, &s.unit)
		}
		for j := range s.entries {
			f(unitKey{s.name, s.entries[j].name}, &s.entries[j])
		}
	}
}

// conflict returns the first unit that somebody owns who defines it differently, or
// nil.
func (d *Document) conflict(parts []Part, owners map[unitKey]owner) (first *ConflictError) {
	d.each(func(key unitKey, u *unit) {
		o, taken := owners[key]
		if first != nil || !taken || o.unit.sum == u.sum || key.section == "" && describing[key.name] {
			return
		}
		first = &ConflictError{Pointer: key.pointer(), First: parts[o.part].Source}
	})
	return first
}

func (k unitKey) pointer() string {
	switch k.section {
	case "":
		return pointerTo(k.name)
	case pathsMember, componentsMember:
		return pointerTo(k.section, k.name)
	}
	return pointerTo(componentsMember, k.section, k.name)
}

// join returns the document of all units that have an owner, without its bytes.
func join(parts []Part, accepted []int, owners map[unitKey]owner) *Document {
	var out Document
	sections := map[string]*section{}
	for _, i := range accepted {
		d := parts[i].Document
		out.pathsName = firstOf(out.pathsName, d.pathsName)
		out.componentsName = firstOf(out.componentsName, d.componentsName)
		for _, s := range d.sections {
			if sections[s.name] == nil {
				s.entries = nil
				sections[s.name] = &s
			}
		}
	}
	for key, o := range owners {
		switch key.section {
		case "":
			out.root = append(out.root, *o.unit)
		case pathsMember:
			out.paths = append(out.paths, *o.unit)
		case componentsMember:
		default:
			s := sections[key.section]
			s.entries = append(s.entries, *o.unit)
		}
	}
	byName := func(a, b unit) int { return compareNames(a.name, b.name) }
	slices.SortFunc(out.root, byName)
	slices.SortFunc(out.paths, byName)
	for _, s := range sections {
		slices.SortFunc(s.entries, byName)
		out.sections = append(out.sections, *s)
	}
	slices.SortFunc(out.sections, func(a, b section) int { return compareNames(a.name, b.name) })
	return &out
}

func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}
