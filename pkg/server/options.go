package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"
)

// Options is what a server is asked to do.
type Options struct {
	// Listen is the address for plain HTTP: "127.0.0.1:8080". Port 0 takes any.
	Listen string
	// Insecure allows Listen to be an address that others can reach.
	Insecure bool
	// Sources are files and folders. Without any, Sample is served.
	Sources []string
	// SampleName and Sample are the document served without sources.
	SampleName string
	Sample     []byte
	// BehindAggregator is [handler.Options.BehindAggregator].
	BehindAggregator bool
	// VariantBytes is [store.Options.VariantBytes].
	VariantBytes int64
	// ShutdownTimeout is how long running downloads may take to finish once the
	// server has been asked to stop. Default: [DefaultShutdownTimeout].
	ShutdownTimeout time.Duration
	// Version is served at /version.
	Version version.Info
}

// DefaultShutdownTimeout is the default of [Options.ShutdownTimeout].
const DefaultShutdownTimeout = 60 * time.Second

// Validate returns everything that is wrong with the options, joined.
func (o Options) Validate() error {
	var problems []error
	if err := o.validateListen(); err != nil {
		problems = append(problems, err)
	}
	for _, source := range o.Sources {
		if source == "" {
			problems = append(problems, errors.New("an empty SOURCE; name a file or a folder"))
		}
		if scheme, _, ok := strings.Cut(source, "://"); ok && (scheme == "http" || scheme == "https") {
			problems = append(problems, fmt.Errorf("the source %s is an API server, which is not supported yet; give files or folders", source))
		}
	}
	if o.ShutdownTimeout < 0 {
		problems = append(problems, fmt.Errorf("--shutdown-timeout %s is negative", o.ShutdownTimeout))
	}
	if o.VariantBytes < 0 {
		problems = append(problems, fmt.Errorf("--variant-bytes %d is negative", o.VariantBytes))
	}
	return errors.Join(problems...)
}

func (o Options) validateListen() error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q is not HOST:PORT: %w", o.Listen, err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--listen %q has no port between 0 and 65535", o.Listen)
	}
	if o.Insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s is not a loopback address, and plain HTTP would be open to others; listen on 127.0.0.1, or say --insecure", o.Listen)
}
