package file

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// crd is a definition of plural.example.com with the given versions, served or not.
func crd(plural, kind, color string, versions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: %[1]s, kind: %[2]s}
  versions:
`, plural, kind)
	for _, v := range versions {
		name, served := strings.CutSuffix(v, "!")
		fmt.Fprintf(&b, "  - {name: %s, served: %v, storage: false, schema: {openAPIV3Schema: {type: object, properties: {%s: {type: string, default: null}}}}}\n", name, !served, color)
	}
	return b.String()
}

// holds reports which of the words the document of a path holds.
func (f *fixture) holds(path string, words ...string) string {
	d := f.store.Snapshot().Document(path)
	if d == nil {
		return "nothing"
	}
	r, err := d.Representation(context.Background(), store.JSON)
	if err != nil {
		f.t.Fatal(err)
	}
	var found []string
	for _, w := range words {
		if strings.Contains(string(r.Body), w) {
			found = append(found, w)
		}
	}
	return strings.Join(found, " ")
}

func (f *fixture) paths() string {
	var all []string
	for _, d := range f.store.Snapshot().Documents() {
		all = append(all, d.Path())
	}
	return strings.Join(all, " ")
}

func (f *fixture) value(name string) float64 {
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue() + float64(family.GetMetric()[0].GetHistogram().GetSampleCount())
		}
	}
	f.t.Fatalf("there is no metric %s", name)
	return 0
}

const observations = "crd_openapi_v3_aggregation_duration_seconds"

func TestCRDs(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n"
	for i, line := range strings.Split(strings.TrimSpace(crd("drops", "Drop", "blue", "v1")), "\n") {
		list += map[bool]string{true: "- ", false: "  "}[i == 0] + line + "\n"
	}
	f := newFixture(t, map[string]string{
		"one.yaml":   crd("apples", "Apple", "red", "v1", "v1beta1"),
		"more.yaml":  crd("pears", "Pear", "green", "v1") + "---\n" + crd("plums", "Plum", "violet", "v2", "v1!"),
		"list.yaml":  list,
		"other.json": text("apis/other.com/v1", "other"),
	})
	if got := f.paths(); got != "apis/example.com/v1 apis/example.com/v1beta1 apis/example.com/v2 apis/other.com/v1" {
		t.Errorf("published: %s\n%s", got, f.logs)
	}
	words := []string{"Apple", "Pear", "Plum", "Drop"}
	for path, want := range map[string]string{"apis/example.com/v1": "Apple Pear Drop", "apis/example.com/v1beta1": "Apple", "apis/example.com/v2": "Plum"} {
		if got := f.holds(path, words...); got != want {
			t.Errorf("%s holds %s, want %s", path, got, want)
		}
	}
	if got := f.value(observations); got != 4 {
		t.Errorf("%v observations of 4 definitions", got)
	}

	// A version that is no longer served goes at once, and takes no other along.
	f.write("one.yaml", crd("apples", "Apple", "red", "v1", "v1beta1!"))
	f.scan()
	if got := f.paths(); got != "apis/example.com/v1 apis/example.com/v2 apis/other.com/v1" {
		t.Errorf("published: %s", got)
	}
	// One change is one observation, wherever the definition stands; none is none.
	f.write("more.yaml", crd("pears", "Pear", "yellow", "v1")+"---\n"+crd("plums", "Plum", "violet", "v2", "v1!"))
	f.scan()
	f.scan()
	if got := f.value(observations); got != 6 {
		t.Errorf("%v observations, want 6", got)
	}
	if got := f.holds("apis/example.com/v1", "green", "yellow", "red", `"default":null`); got != `yellow red "default":null` {
		t.Errorf("it holds %s", got)
	}
	// A definition that its file has no more is gone.
	f.write("more.yaml", crd("pears", "Pear", "yellow", "v1"))
	f.scan()
	if got := f.paths(); got != "apis/example.com/v1 apis/other.com/v1" {
		t.Errorf("published: %s", got)
	}
}

// What a cluster withholds by its status is not published; without a status it is.
func TestCRDStatus(t *testing.T) {
	status := func(condition, value string) string {
		return "status: {conditions: [{type: Terminating, status: \"True\"}, {type: " + condition + ", status: \"" + value + "\", message: \"plural is taken\"}]}\n"
	}
	f := newFixture(t, map[string]string{
		"a.yaml": crd("apples", "Apple", "red", "v1") + status("NamesAccepted", "False"),
		"b.yaml": crd("pears", "Pear", "red", "v1") + status("Established", "False"),
		"c.yaml": crd("plums", "Plum", "red", "v1") + status("Established", "True"),
	})
	if got := f.holds("apis/example.com/v1", "Apple", "Pear", "Plum"); got != "Plum" {
		t.Errorf("published: %s", got)
	}
	if got := f.broken(); got != "a.yaml b.yaml" || !strings.Contains(f.logs.String(), "apples.example.com is not served by its cluster: NamesAccepted is False: plural is taken") {
		t.Errorf("broken: %s\n%s", got, f.logs)
	}
}

// Of a thousand definitions in one file, a broken one hides no other, before and
// after it was in order.
func TestOneBrokenCRDHidesNoOther(t *testing.T) {
	many := func(broken string) string {
		var b strings.Builder
		for i := range 1000 {
			kind := fmt.Sprintf("Kind%d", i)
			definition := crd(strings.ToLower(kind), kind, "red", "v1")
			if i == 500 {
				definition = strings.Replace(definition, "schema: {openAPIV3Schema", broken, 1)
			}
			b.WriteString("---\n" + definition)
		}
		return b.String()
	}
	f := newFixture(t, map[string]string{"many.yaml": many("other: {openAPIV3Schema")})
	words := []string{`"Kind499"`, `"Kind500"`, `"Kind501"`}
	if got := f.holds("apis/example.com/v1", words...); got != `"Kind499" "Kind501"` {
		t.Errorf("published: %s", got)
	}
	if !strings.Contains(f.logs.String(), "many.yaml:5010:5: /spec/versions/0: the version v1 has no schema") {
		t.Errorf("the log does not say where: %s", f.logs)
	}
	f.write("many.yaml", many("schema: {openAPIV3Schema"))
	f.scan()
	if got := f.holds("apis/example.com/v1", words...); got != strings.Join(words, " ") || f.broken() != "" {
		t.Errorf("published: %s; broken: %s", got, f.broken())
	}
	f.write("many.yaml", many("schema: {x: 1, openAPIV3Schema: 5} #"))
	f.scan()
	if got := f.holds("apis/example.com/v1", words...); got != strings.Join(words, " ") || f.broken() != "many.yaml" {
		t.Errorf("published: %s; broken: %s", got, f.broken())
	}
}

func TestBadCRDs(t *testing.T) {
	good := crd("apples", "Apple", "red", "v1")
	head, _, _ := strings.Cut(good, "  - {")
	for name, tc := range map[string]struct{ text, want string }{
		"v1beta1":             {strings.Replace(good, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", 1), ":1:13: /apiVersion: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1 cannot be published; write it as apiextensions.k8s.io/v1"},
		"no schema":           {strings.Replace(good, "schema: {openAPIV3Schema", "x: {openAPIV3Schema", 1), ":9:5: /spec/versions/0: the version v1 has no schema"},
		"$ref":                {strings.Replace(good, "{type: string,", "{$ref: \"#/x\", type: string,", 1), "/properties/red/$ref: the schema of a CustomResourceDefinition cannot hold a $ref"},
		"no versions":         {strings.Replace(head, "versions:", "versions: []", 1), "the CustomResourceDefinition has no versions"},
		"no kind":             {strings.Replace(good, ", kind: Apple", "", 1), "the CustomResourceDefinition has no /spec/names/kind"},
		"a scope of sorts":    {strings.Replace(good, "Cluster", "Galaxy", 1), `:6:10: /spec/scope: the scope "Galaxy" is neither Namespaced nor Cluster`},
		"wrong types":         {strings.Replace(good, "names: {plural: apples, kind: Apple}", "names: [a]", 1), ":7:10: /spec/names: not a CustomResourceDefinition: it has the wrong type"},
		"a group that climbs": {strings.Replace(good, "group: example.com", "group: ../x", 1), "cannot be published"},
		"versions twice":      {crd("apples", "Apple", "red", "v1", "v1"), "/spec/versions/1/name: the version v1 is there twice"},
		"there twice":         {good + "---\n" + good, "the CustomResourceDefinition apples.example.com is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Parts("f", []byte(tc.text), testLimits)
			if len(errs) != 1 || !strings.Contains(At("f", errs[0]).Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", errs, tc.want)
			}
		})
	}
	t.Run("no served version", func(t *testing.T) {
		parts, errs := Parts("f", []byte(crd("apples", "Apple", "red", "v1!")), testLimits)
		if len(errs) != 0 || len(parts) != 1 || len(parts[0].Contributions) != 0 {
			t.Errorf("%v, %v", parts, errs)
		}
	})
	t.Run("a schema of 5 MB", func(t *testing.T) {
		large := strings.Replace(good, "{type: string,", "{description: "+strings.Repeat("x", 5<<20)+", type: string,", 1)
		if parts, errs := Parts("f", []byte(large), testLimits); len(errs) != 0 || len(parts[0].Contributions) != 1 {
			t.Errorf("errors %v", errs)
		}
	})
}

// A schema that is not structural is published as it is, and said to be so.
func TestNonStructuralCRD(t *testing.T) {
	text := strings.Replace(crd("apples", "Apple", "red", "v1"), "{type: string, default: null}", "{maxLength: 3, x-odd: 1.0}", 1)
	f := newFixture(t, map[string]string{"a.yaml": text})
	if got := f.holds("apis/example.com/v1", `"red":{"maxLength":3,"x-odd":1.0}`); got == "" {
		t.Errorf("it holds %s", got)
	}
	if !strings.Contains(f.logs.String(), "published, but Kubernetes would not") || f.value("openapi_server_crd_findings") != 1 {
		t.Errorf("%v findings\n%s", f.value("openapi_server_crd_findings"), f.logs)
	}
	// So is an int-or-string that is a mix with something else.
	f.write("a.yaml", strings.Replace(crd("apples", "Apple", "red", "v1"), "{type: string, default: null}", "{x-kubernetes-int-or-string: true, anyOf: [{type: boolean}, {type: string}]}", 1))
	f.scan()
	if got := f.holds("apis/example.com/v1", `{"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}],"anyOf":[{"type":"boolean"},{"type":"string"}],"x-kubernetes-int-or-string":true}`); got == "" || f.value("openapi_server_crd_findings") != 1 {
		t.Errorf("it holds %q, %v findings", got, f.value("openapi_server_crd_findings"))
	}
	f.write("a.yaml", crd("apples", "Apple", "red", "v1"))
	f.scan()
	if got := f.value("openapi_server_crd_findings"); got != 0 {
		t.Errorf("%v findings after it was mended", got)
	}
}

// Two files with the same plural or kind contradict each other.
func TestCRDConflicts(t *testing.T) {
	for name, other := range map[string]string{
		"plural": crd("apples", "Orange", "orange", "v1"),
		"kind":   crd("oranges", "Apple", "orange", "v1"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			logged := new(strings.Builder)
			var err error
			if f.store, err = store.New(store.Options{Logger: textLogger(logged)}); err != nil {
				t.Fatal(err)
			}
			f.source.store = f.store
			f.write("a.yaml", crd("apples", "Apple", "red", "v1"))
			f.write("b.yaml", other)
			f.scan()
			if got := f.holds("apis/example.com/v1", "red", "orange"); got != "red" {
				t.Errorf("published: %s", got)
			}
			for _, want := range []string{"a.yaml: apples.example.com", "b.yaml: "} {
				if !strings.Contains(logged.String(), want) {
					t.Errorf("the log does not name %s: %s", want, logged)
				}
			}
		})
	}
}

// A definition in a file that is gone stays, and its file's name is in the metric.
func TestCRDFileThatIsGone(t *testing.T) {
	f := newFixture(t, map[string]string{"a.yaml": crd("apples", "Apple", "red", "v1"), "b.yaml": crd("pears", "Pear", "red", "v1")})
	before := f.store.Snapshot().Document("apis/example.com/v1").Tag()
	if err := os.Rename(f.path("a.yaml"), f.path("c.yaml")); err != nil {
		t.Fatal(err)
	}
	f.remove("b.yaml")
	f.scan()
	if got := f.store.Snapshot().Document("apis/example.com/v1").Tag(); got != before || f.broken() != "b.yaml" {
		t.Errorf("published is something else; broken: %s", f.broken())
	}
	old := time.Now().Add(-time.Hour)
	f.write("b.yaml", "# withdrawn\n")
	if err := os.Chtimes(f.path("b.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	f.scan()
	if got := f.holds("apis/example.com/v1", "Apple", "Pear"); got != "Apple" {
		t.Errorf("it holds %s", got)
	}
}
