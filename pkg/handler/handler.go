package handler

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// Root is the path of the root document, in the URLs that reach a Handler and in
// those that it lists. Clients expect it: k8s.io/client-go/openapi asks for no other
// path. In front of it may be anything that a middleware strips.
const Root = "/openapi/v3"

// Snapshotter is where a Handler finds what is published. [store.Store] is one.
type Snapshotter interface {
	// Snapshot must be safe for concurrent use, and cheap.
	Snapshot() *store.Snapshot
}

var _ Snapshotter = (*store.Store)(nil)

// Options configures a [Handler]. The zero value is ready for use.
type Options struct {
	// Private marks all answers as not for shared caches. Set it where callers have
	// to authenticate.
	Private bool
	// BehindAggregator answers a request with an outdated tag with the current
	// document and no-store, where the default is a redirect. kube-aggregator makes
	// a 502 of every redirect (k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go).
	BehindAggregator bool
	// Now is the clock for Expires. Default: [time.Now].
	Now func() time.Time
}

// Handler serves the root document and the documents of a store's snapshots. Make
// one with [New].
type Handler struct {
	snapshots Snapshotter
	redirect  bool
	now       func() time.Time
	// The values of Cache-Control.
	revalidate, immutable []string
}

var _ http.Handler = (*Handler)(nil)

// New returns a Handler for what snapshots publishes.
func New(snapshots Snapshotter, o Options) *Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{
		snapshots:  snapshots,
		redirect:   !o.BehindAggregator,
		now:        o.Now,
		revalidate: []string{"no-cache"},
		immutable:  []string{"public, max-age=31536000, immutable"},
	}
	if o.Private {
		h.revalidate = []string{"no-cache, private"}
		h.immutable = []string{"private, max-age=31536000, immutable"}
	}
	return h
}

// Values of headers that never change, so that setting them allocates nothing.
// Their capacity is their length: a middleware that appends gets a copy.
var (
	vary        = []string{"Accept, Accept-Encoding"}
	noStore     = []string{"no-store"}
	gzipCoding  = []string{"gzip"}
	bytesRanges = []string{"bytes"}
	noSniff     = []string{"nosniff"}
)

// ServeHTTP answers GET and HEAD for the root document and the documents below
// it; docs/wire.md has the whole table.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if others := header["Vary"]; len(others) > 0 {
		// A middleware in front, such as one for CORS, has its own reasons to vary.
		header["Vary"] = append(slices.Clip(others), vary...)
	} else {
		header["Vary"] = vary
	}
	header["X-Content-Type-Options"] = noSniff
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeMethodNotAllowed(w, r)
		return
	}
	path, ok := documentPath(r.URL)
	if !ok {
		writeNotFound(w, r, r.URL.Path)
		return
	}
	query := parseQuery(r.URL.RawQuery)
	snapshot := h.snapshots.Snapshot()
	if path == "" {
		h.serveRoot(w, r, snapshot.Root(), query)
		return
	}
	document := snapshot.Document(path)
	if document == nil {
		writeNotFound(w, r, path)
		return
	}
	h.serveDocument(w, r, document, query)
}

// documentPath returns the path of the document that a URL names, empty for the
// root document. One trailing slash makes no difference, and an escaped slash is
// never a separator.
func documentPath(u *url.URL) (string, bool) {
	rest, ok := strings.CutPrefix(u.Path, Root)
	if !ok || (rest != "" && rest[0] != '/') {
		return "", false
	}
	if u.RawPath != "" && (strings.Contains(u.RawPath, "%2F") || strings.Contains(u.RawPath, "%2f")) {
		return "", false
	}
	rest = strings.TrimPrefix(rest, "/")
	return strings.TrimSuffix(rest, "/"), true
}

func (h *Handler) serveRoot(w http.ResponseWriter, r *http.Request, root *store.Root, q query) {
	if _, ok := preferredMediaType(r.Header["Accept"], rootMediaTypes); !ok {
		writeNotAcceptable(w, r, "Accept", rootMediaTypes)
		return
	}
	coding, ok := preferredCoding(r.Header["Accept-Encoding"])
	if !ok {
		writeNoCoding(w, r)
		return
	}
	shape := store.Nested
	if q.view == "flat" {
		shape = store.Flat
	}
	forms, err := root.Representations(shape)
	if err != nil {
		writeInternal(w, r, err)
		return
	}
	representation := forms.JSON
	if coding == codingGzip {
		representation = forms.JSONGzip
	}
	w.Header()["Cache-Control"] = h.revalidate
	if preconditionDecides(w, r, representation.ETag) {
		return
	}
	write(w, r, mediaTypeJSON.header, coding, representation)
}

func (h *Handler) serveDocument(w http.ResponseWriter, r *http.Request, d *store.Document, q query) {
	header := w.Header()
	switch {
	case q.tag == "":
		header["Cache-Control"] = h.revalidate
	case q.tag == d.Tag():
		header["Cache-Control"] = h.immutable
		header["Expires"] = []string{h.now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat)}
	case h.redirect && !q.redirected:
		h.writeRedirect(w, r, d)
		return
	default:
		// The client has been redirected once, by a replica that knows another tag
		// than this one. It gets what there is, and must not keep it under that tag.
		header["Cache-Control"] = noStore
	}

	coding, ok := preferredCoding(r.Header["Accept-Encoding"])
	if !ok {
		writeNoCoding(w, r)
		return
	}
	offers := documentMediaTypes
	for {
		offer, ok := preferredMediaType(r.Header["Accept"], offers)
		if !ok {
			writeNotAcceptable(w, r, "Accept", offers)
			return
		}
		format := offer.formats[coding]
		if preconditionDecides(w, r, d.ETag(format)) {
			return
		}
		representation, err := d.Representation(r.Context(), format)
		if err == nil {
			write(w, r, offer.header, coding, representation)
			return
		}
		if r.Context().Err() != nil {
			writeUnavailable(w, r, err)
			return
		}
		if format == store.JSON || format == store.JSONGzip {
			writeInternal(w, r, err)
			return
		}
		// The document has no such form; another one may do.
		offers = rootMediaTypes
	}
}

// writeRedirect sends a client with an outdated tag to the current one. The answer
// must not be kept: a document that goes back to an earlier content would send
// clients in a circle through their own caches.
func (h *Handler) writeRedirect(w http.ResponseWriter, r *http.Request, d *store.Document) {
	header := w.Header()
	header["Cache-Control"] = noStore
	header["Location"] = []string{outerPrefix(r) + Root + "/" + d.Path() + "?" + redirectQuery(r.URL.RawQuery, d.Tag())}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(http.StatusMovedPermanently)
}

// outerPrefix returns what a middleware has stripped from the front of the
// request's path. It begins with one slash, so that it can never be read as a
// host.
func outerPrefix(r *http.Request) string {
	if r.RequestURI == "" {
		return ""
	}
	full, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	outer, ok := strings.CutSuffix(full.EscapedPath(), r.URL.EscapedPath())
	if outer = strings.Trim(outer, "/"); !ok || outer == "" {
		return ""
	}
	return "/" + outer
}
