// Command openapi-server publishes Kubernetes-style APIs: OpenAPI v3 per
// group-version, correctly cached.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks the server to end; the second one kills it.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	message := strings.ReplaceAll(err.Error(), "\n", "; ")
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "openapi-server: %s; see %s --help\n", message, command.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "openapi-server: %s\n", message)
	return exitFailure
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "openapi-server",
		Short: "Publish Kubernetes-style APIs as OpenAPI v3, one document per group-version",
		Long: `openapi-server publishes Kubernetes-style APIs as OpenAPI v3: one document per
group-version at /openapi/v3, with tags in the URLs, immutable and pre-compressed.

Without a command it serves an embedded sample on http://127.0.0.1:8080.`,
		Args:          usageArgs(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, defaultServeOptions())
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(serveCommand(), crdCommand(), versionCommand())
	return root
}

// usageArgs makes a usage error of what a check of the arguments finds.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
