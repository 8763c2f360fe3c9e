package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/source/file"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// Limits of the HTTP server. There is none on how long an answer may take: a
// document on a slow line has to arrive.
const (
	maxHeaderBytes    = 64 << 10
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Server is a store with its sources and its HTTP server. Make one with [New]; it
// runs once.
type Server struct {
	options  Options
	log      *slog.Logger
	registry *prometheus.Registry
	store    *store.Store
	files    *file.Source // nil where the sample is served
	handler  http.Handler
	// loaded turns true when every local source has been read once, stopping when
	// the server has been asked to end. Both are what /readyz answers from.
	loaded, stopping atomic.Bool
}

// New wires a server up. It reads no source and opens no port yet. Errors are
// those of [Options.Validate], or name a source that does not exist.
func New(o Options, log *slog.Logger) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = DefaultShutdownTimeout
	}
	s := &Server{options: o, log: log, registry: prometheus.NewRegistry()}
	s.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	var err error
	s.store, err = store.New(store.Options{Logger: log, Registerer: s.registry, VariantBytes: o.VariantBytes})
	if err != nil {
		return nil, err
	}
	if len(o.Sources) > 0 {
		s.files, err = file.New(o.Sources, s.store, file.Options{Logger: log, Registerer: s.registry})
		if err != nil {
			return nil, err
		}
	}
	s.handler = s.routes(handler.New(s.store, handler.Options{BehindAggregator: o.BehindAggregator}))
	return s, nil
}

// Handler returns the HTTP handler of the whole server, for tests and for
// embedding.
func (s *Server) Handler() http.Handler { return s.handler }

// Load reads every local source once. The server is ready afterwards. Sources that
// are broken are logged and counted; the error is for what leaves nothing to
// serve, or that of ctx.
func (s *Server) Load(ctx context.Context) error {
	if s.files != nil {
		if err := s.files.Load(ctx); err != nil {
			return err
		}
	} else {
		parts, errs := file.Parts(s.options.SampleName, s.options.Sample, spec3.Limits{})
		if len(errs) > 0 {
			return fmt.Errorf("%s: %w", s.options.SampleName, errs[0])
		}
		for _, p := range parts {
			if err := s.store.Apply(p.Update); err != nil {
				return err
			}
		}
	}
	s.loaded.Store(true)
	return nil
}

// Run listens, loads, and serves until ctx is done; then it finishes running
// downloads and returns nil. started is called once with the address, when the
// port is open and the sources have been read; it may be nil. An error says why
// the server could not start or had to stop.
func (s *Server) Run(ctx context.Context, started func(address net.Addr, documents []*store.Document)) error {
	listener, err := net.Listen("tcp", s.options.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w; choose another address with --listen", err)
	}
	// The port answers while sources are read, so that probes can tell a server
	// that is starting from one that is gone.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           s.handler,
		Protocols:         protocols,
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if err := s.Load(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // asked to stop before everything was read
			}
			return err
		}
		if started != nil {
			started(listener.Addr(), s.store.Snapshot().Documents())
		}
		if s.files != nil {
			s.files.Run(ctx)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return s.shutdown(server)
	})
	return group.Wait()
}

// shutdown lets running answers finish.
func (s *Server) shutdown(server *http.Server) error {
	s.stopping.Store(true)
	s.log.Info("stopping: no new connections, running downloads finish", "timeout", s.options.ShutdownTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), s.options.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		if closeErr := server.Close(); closeErr != nil {
			s.log.Debug("closing connections", "error", closeErr)
		}
		return fmt.Errorf("downloads did not finish in %s (see --shutdown-timeout): %w", s.options.ShutdownTimeout, err)
	}
	return nil
}
