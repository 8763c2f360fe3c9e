package testdocs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	// The modules whose CRDs are read: importing something of theirs keeps them in
	// go.mod.
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "sigs.k8s.io/gateway-api/apis"
)

// CustomResourceDefinitions returns the CRDs of gateway-api (standard and
// experimental) and cert-manager in YAML, by "MODULE/FILE", read from the module
// cache. The error is that of finding or reading them.
func CustomResourceDefinitions() (map[string][]byte, error) {
	definitions := map[string][]byte{}
	for _, source := range []struct{ module, folder string }{
		{"sigs.k8s.io/gateway-api", "config/crd/standard"},
		{"sigs.k8s.io/gateway-api", "config/crd/experimental"},
		{"github.com/cert-manager/cert-manager", "deploy/crds"},
	} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", source.module).Output()
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", source.module, err)
		}
		folder := filepath.Join(strings.TrimSpace(string(out)), source.folder)
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no CRDs in %s: %w", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			// Some folders also hold objects of other kinds.
			if strings.Contains(string(text), "\nkind: CustomResourceDefinition\n") {
				definitions[source.module+"/"+source.folder+"/"+filepath.Base(file)] = text
			}
		}
	}
	return definitions, nil
}
