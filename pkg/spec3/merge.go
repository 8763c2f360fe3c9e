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
	// Most parts of many have about as many units of their own.
	const ownUnits = 8
	owners := make(map[unitKey]owner, (len(parts)+ownUnits)*ownUnits)
	// Fragments have most of their pieces in common; those need no second look.
	pieces := make(map[*piece]bool, (len(parts)+ownUnits)*ownUnits)
	var news []named
	for i, p := range parts {
		var conflict *ConflictError
		news, conflict = p.Document.news(news[:0], parts, owners, pieces)
		if conflict != nil {
			conflict.Second, conflict.Index = p.Source, i
			conflicts = append(conflicts, conflict)
			continue
		}
		accepted = append(accepted, i)
		for _, n := range news {
			owners[n.key] = owner{i, n.unit}
			if n.unit.piece != nil {
				pieces[n.unit.piece] = true
			}
		}
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

// named is a unit with its key.
type named struct {
	key  unitKey
	unit *unit
}

// flatten returns all units with their keys, in canonical order within each list. A
// section that is a whole is a unit with the key {"components", NAME}.
func (d *Document) flatten() []named {
	count := len(d.root) + len(d.paths)
	for i := range d.sections {
		count += 1 + len(d.sections[i].entries)
	}
	out := make([]named, 0, count)
	add := func(section string, units []unit) {
		for i := range units {
			out = append(out, named{unitKey{section, units[i].name}, &units[i]})
		}
	}
	add("", d.root)
	add(pathsMember, d.paths)
	for i := range d.sections {
		s := &d.sections[i]
		if s.whole {
			out = append(out, named{unitKey{componentsMember, s.name}, &s.unit})
		}
		add(s.name, s.entries)
	}
	return out
}

// news appends the units that nobody owns yet to a list, or returns the first one that
// somebody owns who defines it differently.
func (d *Document) news(news []named, parts []Part, owners map[unitKey]owner, pieces map[*piece]bool) ([]named, *ConflictError) {
	flat := d.flat
	if flat == nil {
		flat = d.flatten()
	}
	for _, n := range flat {
		if n.unit.piece != nil && pieces[n.unit.piece] {
			continue
		}
		o, taken := owners[n.key]
		switch {
		case !taken:
			news = append(news, n)
		case o.unit.sum != n.unit.sum && (n.key.section != "" || !describing[n.key.name]):
			return nil, &ConflictError{Pointer: n.key.pointer(), First: parts[o.part].Source}
		}
	}
	return news, nil
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
	lists := map[string][]*unit{}
	for key, o := range owners {
		lists[key.section] = append(lists[key.section], o.unit)
	}
	out.root, out.paths = sorted(lists[""]), sorted(lists[pathsMember])
	for name, s := range sections {
		if !s.whole {
			s.entries = sorted(lists[name])
		}
		out.sections = append(out.sections, *s)
	}
	slices.SortFunc(out.sections, func(a, b section) int { return compareNames(a.name, b.name) })
	return &out
}

// sorted returns copies of units in canonical order. Pointers are sorted, because
// units are large.
func sorted(units []*unit) []unit {
	slices.SortFunc(units, compareUnits)
	out := make([]unit, 0, len(units))
	for _, u := range units {
		out = append(out, *u)
	}
	return out
}

func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}
