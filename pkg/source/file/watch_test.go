package file

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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
	if err := f.source.Load(context.Background()); err != nil {
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

	outside := t.TempDir()
	release := func(version string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(outside, version+".json"), []byte(text("apis/linked/v1", version)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	release("one")
	if err := os.Symlink(filepath.Join(outside, "one.json"), f.path("linked.json")); err != nil {
		t.Fatal(err)
	}
	wait("a link out of the folder comes", "api/v1=again apis/b/v1=b apis/config/v1=..2 apis/linked/v1=one")
	if err := os.WriteFile(filepath.Join(outside, "one.json"), []byte(text("apis/linked/v1", "two")), 0o600); err != nil {
		t.Fatal(err)
	}
	wait("what a link leads to changes", "api/v1=again apis/b/v1=b apis/config/v1=..2 apis/linked/v1=two")
	f.remove("linked.json")
	f.write("linked.json", text("apis/linked/v1", "file"))
	wait("a file takes the place of a link", "api/v1=again apis/b/v1=b apis/config/v1=..2 apis/linked/v1=file")

	f.write("b.json", "{ broken")
	f.write("a.json", text("api/v1", "after"))
	wait("a file breaks and another one changes", "api/v1=after apis/b/v1=b apis/config/v1=..2 apis/linked/v1=file")
}

// A folder that is a link, as a release is, is followed where the link leads, without
// watching ever more folders.
func TestWatchOfALinkedFolder(t *testing.T) {
	f := newFixture(t, nil)
	release := func(n int) string {
		t.Helper()
		name := fmt.Sprintf("release%d", n)
		if err := os.Mkdir(f.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(name+"/a.json", text("api/v1", name))
		if err := os.Symlink(name, f.path("tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(f.path("tmp"), f.path("current")); err != nil {
			t.Fatal(err)
		}
		return "api/v1=" + name
	}
	first := release(0)
	var err error
	if f.source, err = New([]string{f.path("current")}, f.store, Options{Logger: slog.New(slog.NewTextHandler(f.logs, nil)), Resync: time.Hour}); err != nil {
		t.Fatal(err)
	}
	snapshots, unsubscribe := f.store.Subscribe()
	defer unsubscribe()
	if err := f.source.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.expect(first)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		f.source.Run(ctx)
		close(done)
	}()
	watched := len(f.source.watch.watcher.WatchList())
	for n := 1; n < 5; n++ {
		want := release(n)
		for timeout := time.After(10 * time.Second); f.published() != want; {
			select {
			case <-snapshots:
			case <-timeout:
				t.Fatalf("published is %s, want %s\n%s", f.published(), want, f.logs)
			}
		}
	}
	cancel()
	<-done
	if got := len(f.source.watch.folders); got > watched {
		t.Errorf("%d folders are watched, %d at first", got, watched)
	}
}
