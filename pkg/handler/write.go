package handler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// write answers with a representation. ETag, Cache-Control and Vary are set.
func write(w http.ResponseWriter, r *http.Request, contentType []string, c coding, representation store.Representation) {
	header := w.Header()
	header["Content-Type"] = contentType
	if c == codingGzip {
		header["Content-Encoding"] = gzipCoding
	} else {
		header["Accept-Ranges"] = bytesRanges
		if asksForBytes(r) {
			// Ranges of the gzipped form are of no use to anyone, so they are served of
			// the plain one only. ServeContent knows If-Range and multipart.
			http.ServeContent(&rangeWriter{ResponseWriter: w, request: r}, r, "", time.Time{}, bytes.NewReader(representation.Body))
			return
		}
	}
	header["Content-Length"] = []string{strconv.Itoa(len(representation.Body))}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(representation.Body)
	}
}

// asksForBytes reports whether a request is for a range of bytes. Other units are
// not ours, and only GET has ranges (RFC 9110 section 14.2).
func asksForBytes(r *http.Request) bool {
	const unit = "bytes="
	return r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Range"), unit)
}

// rangeWriter makes a Status of the only error that ServeContent has left to
// answer, which otherwise a cache could keep as long as the document.
type rangeWriter struct {
	http.ResponseWriter
	request *http.Request
	failed  bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *rangeWriter) WriteHeader(code int) {
	if code != http.StatusRequestedRangeNotSatisfiable {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.failed = true
	WriteStatus(w.ResponseWriter, w.request, code, metav1.StatusReasonBadRequest,
		fmt.Sprintf("the document has no bytes %q", w.request.Header.Get("Range")))
}

// Write implements [http.ResponseWriter].
func (w *rangeWriter) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// WriteStatus answers with an error as Kubernetes does: a metav1.Status in JSON,
// which no cache keeps. It is for the handlers of the same server, so that all of
// its errors look alike.
func WriteStatus(w http.ResponseWriter, r *http.Request, code int, reason metav1.StatusReason, message string) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  message,
		Reason:   reason,
		Code:     int32(code),
	}
	body, err := json.Marshal(status)
	if err != nil {
		http.Error(w, message, code)
		return
	}
	body = append(body, '\n')
	header := w.Header()
	for _, name := range []string{"Etag", "Expires", "Content-Encoding", "Accept-Ranges"} {
		delete(header, name)
	}
	header["Cache-Control"] = noStore
	header["Content-Type"] = mediaTypeJSON.header
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

func writeMethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header()["Allow"] = []string{"GET, HEAD"}
	WriteStatus(w, r, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("%s is not allowed: documents can only be read, with GET or HEAD", r.Method))
}

func writeNotFound(w http.ResponseWriter, r *http.Request, path string) {
	WriteStatus(w, r, http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("no OpenAPI document is published at %q; %s lists those that are", path, Root))
}

func writeNotAcceptable(w http.ResponseWriter, r *http.Request, name string, offers []*mediaType) {
	names := make([]string, 0, len(offers))
	for _, o := range offers {
		names = append(names, o.name)
	}
	WriteStatus(w, r, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		fmt.Sprintf("%s names nothing that there is; there is %s", name, strings.Join(names, ", ")))
}

func writePreconditionFailed(w http.ResponseWriter, r *http.Request, etag string) {
	WriteStatus(w, r, http.StatusPreconditionFailed, metav1.StatusReasonConflict,
		fmt.Sprintf("If-Match does not name the document's entity tag, which is %s", etag))
}

func writeNoCoding(w http.ResponseWriter, r *http.Request) {
	WriteStatus(w, r, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"Accept-Encoding refuses all that there is: gzip, and no coding")
}

func writeUnavailable(w http.ResponseWriter, r *http.Request, err error) {
	w.Header()["Retry-After"] = []string{"1"}
	WriteStatus(w, r, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error())
}

func writeInternal(w http.ResponseWriter, r *http.Request, err error) {
	WriteStatus(w, r, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
}
