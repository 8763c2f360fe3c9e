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
// Errors are of type [*Error] and wrap [ErrNoGroupVersion].
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
	for path, units := range groups {
		if len(groups) == 1 {
			documents[path] = d
			break
		}
		documents[path] = d.part(append(units, extensions...))
	}
	return documents, nil
}

// part returns the document of some paths and all they need.
func (d *Document) part(paths []unit) *Document {
	keep := map[unitKey]bool{}
	var todo []unitKey
	visit := func(u unit) {
		for _, key := range u.refs {
			if !keep[key] {
				keep[key] = true
				todo = append(todo, key)
			}
		}
	}
	for _, u := range d.root {
		visit(u)
	}
	for _, u := range paths {
		keep[unitKey{pathsMember, u.name}] = true
		visit(u)
	}
	for len(todo) > 0 {
		key := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if u := d.unit(key); u != nil {
			visit(*u)
		}
	}

	out := Document{root: d.root, pathsName: d.pathsName, componentsName: d.componentsName}
	for _, u := range d.paths {
		if keep[unitKey{pathsMember, u.name}] {
			out.paths = append(out.paths, u)
		}
	}
	for _, s := range d.sections {
		kept := s
		kept.entries = nil
		for _, e := range s.entries {
			if keep[unitKey{s.name, e.name}] {
				kept.entries = append(kept.entries, e)
			}
		}
		if s.whole || len(kept.entries) > 0 {
			out.sections = append(out.sections, kept)
		}
	}
	if len(out.sections) == 0 {
		out.componentsName = nil
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
