package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-0662880d/openapi-server/pkg/source/file"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func crdCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "crd FILE...",
		Short: "Print the OpenAPI v3 documents of CustomResourceDefinitions",
		Long: `crd prints the OpenAPI v3 document of each group-version that the definitions in
the files (JSON or YAML, - for stdin) have a served version of, as JSON, one document
a line. Definitions of one group-version are merged.`,
		Example: `  openapi-server crd widgets.yaml
  kubectl get crds -o yaml | openapi-server crd -`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printDefinitions(cmd.InOrStdin(), cmd.OutOrStdout(), args)
		},
	}
}

func printDefinitions(stdin io.Reader, stdout io.Writer, files []string) error {
	byPath := map[string][]spec3.Part{}
	var paths []string
	for _, name := range files {
		text, err := readInput(stdin, name)
		if err != nil {
			return err
		}
		parts, errs := file.Parts(name, text, spec3.Limits{})
		if len(errs) > 0 {
			return file.At(name, errs[0])
		}
		for _, p := range parts {
			for _, c := range p.Contributions {
				if byPath[c.Path] == nil {
					paths = append(paths, c.Path)
				}
				byPath[c.Path] = append(byPath[c.Path], spec3.Part{Source: p.Source, Document: c.Document})
			}
		}
	}
	if len(paths) == 0 {
		return errors.New("no definition has a version that is served")
	}
	for _, path := range paths {
		d, conflicts := spec3.Merge(byPath[path]...)
		if len(conflicts) > 0 {
			return conflicts[0]
		}
		if _, err := fmt.Fprintf(stdout, "%s\n", d.JSON()); err != nil {
			return err
		}
	}
	return nil
}

// readInput reads a file, or stdin where its name is "-".
func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name != "-" {
		return os.ReadFile(name)
	}
	text, err := io.ReadAll(io.LimitReader(stdin, spec3.DefaultMaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("stdin: %w", err)
	}
	return text, nil
}
