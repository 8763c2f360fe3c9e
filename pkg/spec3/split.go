package spec3

import (
	"fmt"
	"slices"
	"strings"
)

// Split returns one self-contained document per group-version, keyed by its path
// such as "api/v1" or "apis/apps/v1" (see [GroupVersionPath]). Each has the
// members of the root object, its own paths, and the components that these refer
// to, directly or not. A document of one group-version is returned as it is,
// with the components that nothing refers to.
//
// A $ref into a path of another group-version takes that path item along: the
// document would not be self-contained without it.
//
// Errors are of type [*Error] and wrap [ErrNoGroupVersion], or [ErrTooLarge] where
// the documents together would be: each has its own copy of what they share.
func (d *Document) Split() (map[string]*Document, error) {
	groups := map[string][]unit{}
	var extensions []unit
	for _, p := range d.paths {
		if !strings.HasPrefix(p.name, "/") {
			extensions = append(extensions, p)
			continue
		}
		path, err := GroupVersionPath(p.name)
		if err != nil {
			return nil, &Error{Pointer: pointerTo(pathsMember, p.name), Err: err}
		}
		groups[path] = append(groups[path], p)
	}
	if len(groups) == 0 {
		return nil, &Error{Pointer: "/" + pathsMember, Err: fmt.Errorf("%w: the document has no paths to tell it from", ErrNoGroupVersion)}
	}
	documents := make(map[string]*Document, len(groups))
	size := 0
	for path, units := range groups {
		if len(groups) == 1 {
			documents[path] = d
			break
		}
		part := d.part(append(units, extensions...))
		if size += len(part.json); size > maxSplitBytes {
			return nil, &Error{Pointer: "/" + pathsMember, Err: fmt.Errorf("%w: its %d group-versions, each with what they share, take more than %d bytes",
				ErrTooLarge, len(groups), maxSplitBytes)}
		}
		documents[path] = part
	}
	return documents, nil
}

// maxSplitBytes bounds what a document is split into. All of Kubernetes takes 12 MB.
const maxSplitBytes = 256 << 20

// part returns the document of some paths and all they need. Its cost is that of
// what it returns.
func (d *Document) part(paths []unit) *Document {
	out := Document{root: d.root, pathsName: d.pathsName}
	entries := map[string][]unit{} // by section
	seen := map[unitKey]bool{}
	var todo []unitKey
	visit := func(u *unit) {
		for _, key := range u.refs {
			if !seen[key] {
				seen[key] = true
				todo = append(todo, key)
			}
		}
	}
	for i := range d.root {
		visit(&d.root[i])
	}
	for i := range d.sections {
		// Extensions of components stay, and with them what they refer to.
		if s := &d.sections[i]; s.whole {
			visit(&s.unit)
		}
	}
	for i := range paths {
		seen[unitKey{pathsMember, paths[i].name}] = true
	}
	for i := range paths {
		visit(&paths[i])
	}
	for len(todo) > 0 {
		key := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if key.section == componentsMember {
			// All of a section is referred to.
			if s := d.section(key.name); s != nil {
				for i := range s.entries {
					visit(&unit{refs: []unitKey{{s.name, s.entries[i].name}}})
				}
			}
			continue
		}
		u := d.unit(key)
		if u == nil {
			continue
		}
		visit(u)
		switch key.section {
		case "":
		case pathsMember:
			paths = append(paths, *u)
		default:
			entries[key.section] = append(entries[key.section], *u)
		}
	}

	byName := func(a, b unit) int { return compareNames(a.name, b.name) }
	slices.SortFunc(paths, byName)
	out.paths = paths
	for _, s := range d.sections {
		if s.entries = entries[s.name]; s.whole || len(s.entries) > 0 || seen[unitKey{componentsMember, s.name}] {
			slices.SortFunc(s.entries, byName)
			out.sections = append(out.sections, s)
		}
	}
	if len(out.sections) > 0 || seen[unitKey{"", componentsMember}] {
		out.componentsName = d.componentsName
	}
	return assemble(out)
}

// literalDepth says how many segments of a path name its group-version, for the
// prefixes that Kubernetes serves. It publishes /.well-known and /openid paths
// each under their own name (k8s.io/apiserver, pkg/server/routes).
var literalDepth = map[string]int{"api": 2, "apis": 3, ".well-known": 2, "openid": 3}

// GroupVersionPath returns the path under which the document of an API path is
// published: "/api/v1/pods" gives "api/v1", "/apis/apps/v1/deployments/{name}"
// gives "apis/apps/v1", "/apis/apps/" gives "apis/apps" and "/version/" gives
// "version". Under any other prefix it is prefix/version or prefix/group/version
// where a segment is a Kubernetes version such as v1beta1, and the prefix alone
// where none is. Templated segments never count.
//
// Errors wrap [ErrNoGroupVersion]: a path without a first literal segment, or
// with one that [CheckPath] refuses.
func GroupVersionPath(apiPath string) (string, error) {
	segments := strings.Split(strings.Trim(apiPath, "/"), "/")
	for i, s := range segments {
		if strings.ContainsAny(s, "{}") {
			segments = segments[:i]
			break
		}
	}
	if len(segments) == 0 || segments[0] == "" {
		return "", fmt.Errorf("%w: %q has no literal first segment to name it", ErrNoGroupVersion, clip([]byte(apiPath)))
	}
	depth, known := literalDepth[segments[0]]
	if !known {
		depth = 1
		for i := 1; i < min(len(segments), 3); i++ {
			if isVersion(segments[i]) {
				depth = i + 1
				break
			}
		}
	}
	path := strings.Join(segments[:min(depth, len(segments))], "/")
	if err := CheckPath(path); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoGroupVersion, err)
	}
	return path, nil
}

// isVersion reports whether a segment is a Kubernetes API version: v1, v2beta1.
func isVersion(s string) bool {
	rest, ok := strings.CutPrefix(s, "v")
	if !ok {
		return false
	}
	digits := func() bool {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		rest = rest[n:]
		return n > 0
	}
	if !digits() {
		return false
	}
	if rest == "" {
		return true
	}
	stability, found := strings.CutPrefix(rest, "alpha")
	if !found {
		if stability, found = strings.CutPrefix(rest, "beta"); !found {
			return false
		}
	}
	rest = stability
	return digits() && rest == ""
}

// CheckPath reports whether a document can be published under a path: segments
// of the unreserved characters of RFC 3986 section 2.3, none empty, "." or "..".
// Such a path needs no escaping in a URL and cannot climb out of it.
func CheckPath(path string) error {
	const longest = 1024
	if len(path) > longest {
		return fmt.Errorf("a path of %d bytes is too long to publish; the limit is %d", len(path), longest)
	}
	for s := range strings.SplitSeq(path, "/") {
		if s == "" || s == "." || s == ".." || slices.ContainsFunc([]byte(s), func(c byte) bool { return !unreserved(c) }) {
			return fmt.Errorf("the path %q cannot be published: %q is no segment of letters, digits, '-', '.', '_' and '~'", path, s)
		}
	}
	return nil
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
