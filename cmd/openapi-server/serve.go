package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-0662880d/openapi-server/cmd/openapi-server/sample"
	"github.com/seed-0662880d/openapi-server/pkg/server"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	server.Options
	logFormat string
	logLevel  string
}

func defaultServeOptions() *serveOptions {
	return &serveOptions{
		Options: server.Options{
			Listen:          "127.0.0.1:8080",
			SampleName:      sample.Name,
			Sample:          sample.Text,
			ShutdownTimeout: server.DefaultShutdownTimeout,
			VariantBytes:    store.DefaultVariantBytes,
			Version:         versionInfo(),
		},
		logFormat: "text",
		logLevel:  "info",
	}
}

func serveCommand() *cobra.Command {
	o := defaultServeOptions()
	cmd := &cobra.Command{
		Use:   "serve [SOURCE...]",
		Short: "Publish what files and folders hold",
		Long: `serve publishes the OpenAPI 3.0 documents and the CustomResourceDefinitions (JSON
or YAML) that files and folders hold, one document per group-version, and watches
them for changes. A broken file keeps what it published before. Without a SOURCE it
serves an embedded sample.`,
		Example: `  openapi-server serve apps_v1.json
  openapi-server serve --listen 127.0.0.1:9000 /etc/openapi`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Sources = args
			return serve(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", o.Listen, "`HOST:PORT` for plain HTTP")
	f.BoolVar(&o.Insecure, "insecure", o.Insecure, "allow --listen to be an address that others can reach")
	f.BoolVar(&o.BehindAggregator, "behind-aggregator", o.BehindAggregator,
		"answer an outdated tag with the current document, not with a redirect, of which kube-aggregator makes a 502")
	f.Int64Var(&o.VariantBytes, "variant-bytes", o.VariantBytes,
		"memory in `BYTES` for forms of documents that are made on demand (plain JSON, protobuf)")
	f.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", o.ShutdownTimeout,
		"how long running downloads may take to finish at the end")
	f.StringVar(&o.logFormat, "log-format", o.logFormat, "text or json")
	f.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
	return cmd
}

func serve(cmd *cobra.Command, o *serveOptions) error {
	log, err := o.logger(cmd.ErrOrStderr())
	if err != nil {
		return usageError{err}
	}
	if err := o.validate(); err != nil {
		return usageError{err}
	}
	s, err := server.New(o.Options, log)
	if err != nil {
		return err
	}
	return s.Run(cmd.Context(), func(address net.Addr, documents []*store.Document) {
		welcome(cmd.OutOrStdout(), address, documents, o.Sources)
	})
}

// validate returns everything that is wrong with the flags, joined. In a library a
// zero asks for the default; on the command line it is a mistake.
func (o *serveOptions) validate() error {
	problems := []error{o.Validate()}
	if o.ShutdownTimeout == 0 {
		problems = append(problems, errors.New("--shutdown-timeout has to be more than 0"))
	}
	if o.VariantBytes == 0 {
		problems = append(problems, errors.New("--variant-bytes has to be more than 0"))
	}
	return errors.Join(problems...)
}

func (o *serveOptions) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q is none of debug, info, warn, error", o.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q is neither text nor json", o.logFormat)
}

// welcome says where the server listens, and three things to try.
func welcome(w io.Writer, address net.Addr, documents []*store.Document, sources []string) {
	what := "the embedded sample"
	if len(sources) > 0 {
		what = strings.Join(sources, ", ")
	}
	noun := "documents"
	if len(documents) == 1 {
		noun = "document"
	}
	base := "http://" + address.String()
	fmt.Fprintf(w, "openapi-server publishes %d %s of %s on %s (Ctrl-C ends it)\n", len(documents), noun, what, base)
	if len(documents) == 0 {
		fmt.Fprintf(w, "Try:\n  curl %[1]s/openapi/v3\n  curl %[1]s/readyz\n  curl %[1]s/metrics\n", base)
		return
	}
	d := documents[len(documents)/2]
	fmt.Fprintf(w, `Try:
  curl %[1]s/openapi/v3
  curl --compressed '%[1]s/openapi/v3/%[2]s?etag=%[3]s'
  curl -i '%[1]s/openapi/v3/%[2]s?etag=OUTDATED'
`, base, d.Path(), d.Tag())
}
