package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string // on stderr, where code is not 0, else on stdout
	}{
		{"version", []string{"version"}, 0, "openapi-server v"},
		{"help", []string{"--help"}, 0, "Publish"},
		{"help of serve", []string{"serve", "--help"}, 0, "--listen HOST:PORT"},
		{"unknown flag", []string{"serve", "--nope"}, 2, "openapi-server: unknown flag: --nope; see openapi-server serve --help\n"},
		{"unknown flag without a command", []string{"--nope"}, 2, "openapi-server: unknown flag: --nope; see openapi-server --help\n"},
		{"unknown command", []string{"publish"}, 2, "openapi-server: unknown command \"publish\" for \"openapi-server\"; see openapi-server --help\n"},
		{"argument of version", []string{"version", "x"}, 2, "see openapi-server version --help\n"},
		{"bad value", []string{"serve", "--shutdown-timeout", "soon"}, 2, "openapi-server: invalid argument \"soon\" for \"--shutdown-timeout\" flag"},
		{"open address", []string{"serve", "--listen", ":0"}, 2, "openapi-server: --listen :0 is not a loopback address"},
		{"several mistakes, one line", []string{"serve", "--listen", ":0", "--variant-bytes", "-1"}, 2, "; --variant-bytes -1 is negative; see openapi-server serve --help\n"},
		{"no time to shut down", []string{"serve", "--shutdown-timeout", "0"}, 2, "--shutdown-timeout has to be more than 0"},
		{"no memory", []string{"serve", "--variant-bytes", "0"}, 2, "--variant-bytes has to be more than 0"},
		{"empty source", []string{"serve", ""}, 2, "an empty SOURCE"},
		{"log level", []string{"serve", "--log-level", "loud"}, 2, `openapi-server: --log-level "loud" is none of debug, info, warn, error`},
		{"log format", []string{"serve", "--log-format", "xml"}, 2, `openapi-server: --log-format "xml" is neither text nor json`},
		{"API server", []string{"serve", "https://api.example"}, 2, "not supported yet"},
		{"missing folder", []string{"serve", "/no/such/folder"}, 1, "openapi-server: /no/such/folder: no such file or directory\n"},
		{"port in use", []string{"serve", "--listen", taken.Addr().String()}, 1, "address already in use; choose another address with --listen\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), tc.args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			got := stdout.String()
			if tc.code != 0 {
				lines := strings.SplitAfter(strings.TrimSuffix(stderr.String(), "\n"), "\n")
				got = lines[len(lines)-1] + "\n"
				if tc.code == 2 && len(lines) != 1 {
					t.Errorf("%d lines for one mistake:\n%s", len(lines), stderr.String())
				}
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// start runs the program and returns what it prints up to the last line of its
// welcome, and how to end it.
func start(t *testing.T, args ...string) (welcome string, end func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	reader, writer := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), writer, &stderr)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	for range 5 {
		if !lines.Scan() {
			t.Fatalf("it ended: %s", stderr.String())
		}
		welcome += lines.Text() + "\n"
	}
	return welcome, func() (int, string) {
		cancel()
		return <-code, stderr.String()
	}
}

var baseURL = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// Every command that the program suggests, and every curl command of the README,
// does what its reader is told.
func TestSuggestedCommands(t *testing.T) {
	welcome, end := start(t)
	if !strings.HasPrefix(welcome, "openapi-server publishes 5 documents of the embedded sample on http://127.0.0.1:") || strings.Count(welcome, "\n  curl ") != 3 {
		t.Errorf("it says %s", welcome)
	}
	base := baseURL.FindString(welcome)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(welcome + string(readme)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		commands++
		response := curl(t, base, line)
		want := http.StatusOK
		if strings.Contains(line, "OUTDATED") {
			want = http.StatusMovedPermanently
		}
		if response.code != want {
			t.Errorf("%s: status %d, want %d", line, response.code, want)
		}
		if strings.Contains(line, "--compressed") && response.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: not compressed", line)
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands were found", commands)
	}
	if code, stderr := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// answer is the head of a response.
type answer struct {
	code   int
	header http.Header
}

// curl does what a curl command line does, of the options that we show.
func curl(t *testing.T, base, line string) answer {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)[1:]
	r, err := http.NewRequest(http.MethodGet, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(words); i++ {
		switch word := strings.Trim(words[i], "'"); word {
		case "-i", "-s", "-si":
		case "-sI", "-I":
			r.Method = http.MethodHead
		case "--compressed":
			r.Header.Set("Accept-Encoding", "gzip")
		case "-H":
			i++
			name, value, _ := strings.Cut(strings.Trim(words[i], "'"), ": ")
			r.Header.Set(name, value)
		default:
			if r.URL, err = r.URL.Parse(baseURL.ReplaceAllString(word, base)); err != nil || !strings.HasPrefix(word, "http://127.0.0.1:") {
				t.Fatalf("%s: what is %q? %v", line, word, err)
			}
		}
	}
	response, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header}
}

func TestServeFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"good.yaml": "openapi: 3.0.0\ninfo: {title: t, version: v1}\npaths: {/apis/apps/v1/x: {}}\n",
		"bad.json":  "{\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	welcome, end := start(t, "--log-format", "json", folder)
	if !strings.Contains(welcome, "publishes 1 document of "+folder+" on http") {
		t.Errorf("it says %s", welcome)
	}
	response := curl(t, baseURL.FindString(welcome), "curl http://127.0.0.1:0/openapi/v3/apis/apps/v1")
	if response.code != 200 {
		t.Errorf("status %d", response.code)
	}
	code, stderr := end()
	if code != 0 || !strings.Contains(stderr, `"error":"`+folder+`/bad.json:2:1: the text breaks off: unexpected EOF"`) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestCRDCommand(t *testing.T) {
	definition := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apples.example.com}, spec: {group: example.com, scope: Cluster,
  names: {plural: apples, kind: Apple}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: SERVED, schema: {openAPIV3Schema: {type: object, default: null}}}]}}`
	file := filepath.Join(t.TempDir(), "apples.yaml")
	if err := os.WriteFile(file, []byte("# apples\n"+strings.Replace(definition, "SERVED", "true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), []string{"crd", file}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "/apis/example.com/v1/apples") || !strings.Contains(lines[1], `"default":null`) {
		t.Errorf("got %d lines: %.300s", len(lines), stdout.String())
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"crd"}, 2, "requires at least 1 arg"},
		{[]string{"crd", "/no/such/file"}, 1, "open /no/such/file: no such file or directory"},
		{[]string{"crd", "main_test.go"}, 1, "main_test.go:"},
	} {
		stderr.Reset()
		if code := run(context.Background(), tc.args, &stdout, &stderr); code != tc.code || !strings.Contains(stderr.String(), tc.want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: exit code %d, %s", tc.args, code, stderr.String())
		}
	}
}

func TestServeEmptyFolder(t *testing.T) {
	welcome, end := start(t, t.TempDir())
	if !strings.Contains(welcome, "publishes 0 documents") {
		t.Errorf("it says %s", welcome)
	}
	if code, stderr := end(); code != 0 || !strings.Contains(stderr, "there are no .json, .yaml or .yml files yet") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
