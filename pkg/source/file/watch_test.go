package file

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A change of any kind that editors and Kubernetes make is published within a
// second.
func TestWatch(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("api/v1", "start")})
	config := f.path("config") // like the folder of a mounted ConfigMap
	link := func(version string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(config, version), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write("config/"+version+"/c.json", text("apis/config/v1", version))
		if err := os.Symlink(version, filepath.Join(config, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(config, "..tmp"), filepath.Join(config, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	link("..1")
	if err := os.Symlink("..data/c.json", filepath.Join(config, "c.json")); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.source, err = New([]string{f.folder, config}, f.store, Options{Logger: slog.New(slog.NewTextHandler(f.logs, nil)), Resync: time.Hour}); err != nil {
		t.Fatal(err)
	}
	snapshots, unsubscribe := f.store.Subscribe()
	defer unsubscribe()
	if err := f.source.Load(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		f.source.Run(ctx)
		close(done)
	}()
	defer func() {
		cancel()
		<-done
	}()
	// The watch is set up by Run; a change that it reports proves that it stands.
	wait := func(what, want string) {
		t.Helper()
		start := time.Now()
		timeout := time.After(10 * time.Second)
		for f.published() != want {
			select {
			case <-snapshots:
			case <-timeout:
				t.Fatalf("%s: published is %s, want %s\n%s", what, f.published(), want, f.logs)
			}
		}
		t.Logf("%s: published after %v", what, time.Since(start))
	}
	for i := 0; !strings.Contains(f.published(), "api/v1=ready"); i++ {
		f.write("a.json", text("api/v1", fmt.Sprintf("ready%d", i)))
		select {
		case <-snapshots:
		case <-time.After(time.Second):
		}
	}
	f.write("a.json", text("api/v1", "written"))
	wait("a file is written in place", "api/v1=written apis/config/v1=..1")

	f.write("new.tmp", text("api/v1", "renamed"))
	if err := os.Rename(f.path("new.tmp"), f.path("a.json")); err != nil {
		t.Fatal(err)
	}
	wait("a file is renamed over it", "api/v1=renamed apis/config/v1=..1")

	f.remove("a.json")
	f.write("a.json", text("api/v1", "again"))
	wait("it is removed and written again", "api/v1=again apis/config/v1=..1")

	f.write("b.json", text("apis/b/v1", "b"))
	wait("a file comes", "api/v1=again apis/b/v1=b apis/config/v1=..1")

	link("..2")
	wait("a ConfigMap changes", "api/v1=again apis/b/v1=b apis/config/v1=..2")

	f.write("b.json", "{ broken")
	f.write("a.json", text("api/v1", "after"))
	wait("a file breaks and another one changes", "api/v1=after apis/b/v1=b apis/config/v1=..2")
}
