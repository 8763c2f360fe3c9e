package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/kube-openapi/pkg/handler3"
)

// How requests are sent: over a few connections, as many clients would, each with
// one request under way, for this long per side and round. With as many connections
// as cores, what is measured is mostly how long a core takes to wake up.
const (
	connections = 16
	roundTime   = 400 * time.Millisecond
)

// compareGzip asks the whole server, and a handler that does nothing but write the
// same headers and bytes.
func compareGzip(in input, rounds int) (row, error) {
	ours, err := ourServer(in)
	if err != nil {
		return row{}, err
	}
	bare, err := bareCopy(ours, in, "Accept-Encoding", "gzip")
	if err != nil {
		return row{}, err
	}
	return compareRates(ours, bare, request(in, "Accept-Encoding: gzip"), rounds, 0.85)
}

func compareHandler3(in input, rounds int) (row, error) {
	ours, err := ourServer(in)
	if err != nil {
		return row{}, err
	}
	peer := handler3.NewOpenAPIService()
	if err := publishPeer(peer, in.path, in.text); err != nil {
		return row{}, err
	}
	return compareRates(ours, http.HandlerFunc(peer.HandleGroupVersion), request(in, "Accept-Encoding: gzip"), rounds, 4)
}

func compareNotModified(in input, rounds int) (row, error) {
	ours, err := ourServer(in)
	if err != nil {
		return row{}, err
	}
	w := httptest.NewRecorder()
	ours.ServeHTTP(w, httptest.NewRequest(http.MethodGet, in.url(), nil))
	etag := w.Header().Get("ETag")
	bare, err := bareCopy(ours, in, "If-None-Match", etag)
	if err != nil {
		return row{}, err
	}
	return compareRates(ours, bare, request(in, "If-None-Match: "+etag), rounds, 0.85)
}

// bareCopy asks a handler once and returns one that always answers the same.
func bareCopy(h http.Handler, in input, name, value string) (http.Handler, error) {
	r := httptest.NewRequest(http.MethodGet, in.url(), nil)
	r.Header.Set(name, value)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK && w.Code != http.StatusNotModified {
		return nil, fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	body, header, code := w.Body.Bytes(), w.Header(), w.Code
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header().Set(name, values[0])
		}
		w.WriteHeader(code)
		if code == http.StatusOK {
			w.Write(body)
		}
	}), nil
}

func request(in input, header string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n%s\r\n\r\n", in.url(), header)
}

// compareRates serves both handlers on loopback and measures requests per second.
func compareRates(ours, peer http.Handler, request []byte, rounds int, atLeast float64) (row, error) {
	a, b := httptest.NewServer(ours), httptest.NewServer(peer)
	defer a.Close()
	defer b.Close()
	var results pairs
	for i := range rounds + 1 {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		x, err := rate(first.Listener.Addr(), request)
		if err != nil {
			return row{}, err
		}
		y, err := rate(second.Listener.Addr(), request)
		if err != nil {
			return row{}, err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		if i > 0 { // the first round warms up
			results.add(x, y)
		}
	}
	ratio := results.ratio()
	return row{
		ours:  fmt.Sprintf("%.0f/s", results.ours()),
		peer:  fmt.Sprintf("%.0f/s", results.peers()),
		ratio: fmt.Sprintf("%.2f x", ratio),
		met:   ratio >= atLeast,
	}, nil
}

// rate sends the same request again and again and returns answers per second. The
// client is as small as can be, so that what is measured is the server.
func rate(address net.Addr, request []byte) (float64, error) {
	var group errgroup.Group
	counts := make([]int, connections)
	start := time.Now()
	for i := range connections {
		group.Go(func() error {
			conn, err := net.Dial(address.Network(), address.String())
			if err != nil {
				return err
			}
			defer conn.Close()
			reader := bufio.NewReaderSize(conn, 64<<10)
			for time.Since(start) < roundTime {
				if _, err := conn.Write(request); err != nil {
					return err
				}
				if err := readAnswer(reader); err != nil {
					return err
				}
				counts[i]++
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(start).Seconds(), nil
}

func readAnswer(r *bufio.Reader) error {
	size, notModified := -1, false
	for line := 0; ; line++ {
		text, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		text = textproto.TrimBytes(text)
		switch {
		case line == 0:
			code := string(text[9:12])
			if notModified = code == "304"; code != "200" && !notModified {
				return errors.New("status " + code)
			}
		case len(text) == 0:
			if notModified {
				return nil
			}
			if size < 0 {
				return errors.New("no Content-Length")
			}
			_, err := io.CopyN(io.Discard, r, int64(size))
			return err
		case len(text) > 16 && string(text[:16]) == "Content-Length: ":
			if size, err = strconv.Atoi(string(text[16:])); err != nil {
				return err
			}
		}
	}
}
