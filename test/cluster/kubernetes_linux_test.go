package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// labels are those that select the pods.
type labels map[string]string

type probe struct{ HTTPGet struct{ Path, Port string } }

// A manifest has the members of all kinds that the test looks at.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	StringData, Data map[string]string
	Spec             struct {
		Replicas        int
		Selector        any
		ClusterIP       string
		SessionAffinity string
		MaxUnavailable  int
		Ports           []struct {
			Port       int
			TargetPort string
		}
		Template struct {
			Metadata struct{ Labels labels }
			Spec     struct {
				TerminationGracePeriodSeconds int
				Containers                    []container
				Volumes                       []struct {
					Name      string
					ConfigMap struct{ Name string }
					EmptyDir  any
				}
			}
		}
	}
}

type container struct {
	Image         string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef     struct{ FieldPath string }
			SecretKeyRef struct{ Name, Key string }
		}
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, ReadinessProbe, LivenessProbe probe
	Lifecycle                                   struct {
		PreStop struct{ Sleep struct{ Seconds int } }
	}
	VolumeMounts []struct{ Name, MountPath string }
}

// manifests reads the manifests for Kubernetes by their kind and name.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	file, err := os.ReadFile("../../deploy/kubernetes/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]manifest{}
	for d := yaml.NewDecoder(bytes.NewReader(file)); ; {
		var tree any
		if err := d.Decode(&tree); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(tree) // names of members are those of JSON
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if m.APIVersion == "" || m.Kind == "" || m.Metadata.Name == "" {
			t.Errorf("a manifest has no kind or name: %s", raw)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// The manifests for Kubernetes refer to what they define, and leave a replica the
// time that it needs to end.
func TestKubernetesManifests(t *testing.T) {
	all := manifests(t)
	kinds := []string{"ConfigMap tenon-gateway", "Deployment tenon-gateway", "NetworkPolicy tenon-gateway", "PodDisruptionBudget tenon-gateway",
		"Secret tenon-gateway", "Service tenon-gateway", "Service tenon-gateway-pods"}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, kinds) {
		t.Fatalf("there are %q", got)
	}
	pod := all[kinds[1]].Spec.Template
	c := pod.Spec.Containers[0]
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, p := range map[string]probe{"/readyz": c.ReadinessProbe, "/healthz": c.LivenessProbe} {
		if p.HTTPGet.Path != name || ports[p.HTTPGet.Port] == 0 {
			t.Errorf("a probe is %+v", p)
		}
	}
	for _, name := range kinds[5:] {
		s := all[name].Spec
		if want := map[string]any{"app": pod.Metadata.Labels["app"]}; !maps.Equal(s.Selector.(map[string]any), want) || ports[s.Ports[0].TargetPort] == 0 {
			t.Errorf("%s selects %v, port %s", name, s.Selector, s.Ports[0].TargetPort)
		}
	}
	if all[kinds[5]].Spec.SessionAffinity != "None" || all[kinds[6]].Spec.ClusterIP != "None" || all[kinds[3]].Spec.MaxUnavailable != 1 {
		t.Error("the services or the budget are not as documented")
	}
	drain := 0
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--drain="); ok {
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Error(err)
			}
			drain = int(d.Seconds())
		}
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; drain == 0 || grace <= drain+c.Lifecycle.PreStop.Sleep.Seconds {
		t.Errorf("a pod is killed after %d s, and draining takes %d s", grace, drain)
	}
	for _, v := range pod.Spec.Volumes {
		if !slices.ContainsFunc(c.VolumeMounts, func(m struct{ Name, MountPath string }) bool { return m.Name == v.Name }) {
			t.Errorf("the volume %q is not mounted", v.Name)
		}
	}
}

// The command of the pods runs with the configuration and the environment of the
// manifests, is ready for the probes, and ends on SIGTERM.
func TestKubernetesPodRuns(t *testing.T) {
	all := manifests(t)
	shop := openShop(t, false)
	redis := redistest.Start(t, nil)
	dir := t.TempDir()
	config := all["ConfigMap tenon-gateway"].Data["tenon.json"]
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(strings.Replace(config, "http://notes:8080/mcp", shop.url, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	addrs := map[string]string{"7070": freeport.ForTest(t), "9090": freeport.ForTest(t), "7946": freeport.ForTest(t)}
	c := all["Deployment tenon-gateway"].Spec.Template.Spec.Containers[0]
	secret := all["Secret tenon-gateway"].StringData
	replace := []string{"$(POD_IP)", "127.0.0.1", "0.0.0.0", "127.0.0.1"}
	for port, addr := range addrs {
		_, free, _ := net.SplitHostPort(addr)
		replace = append(replace, ":"+port, ":"+free)
	}
	env := os.Environ()
	for _, e := range c.Env {
		value := e.Value
		if ref := e.ValueFrom.SecretKeyRef; ref.Key != "" {
			if value = secret[ref.Key]; ref.Name != "tenon-gateway" || value == "" {
				t.Errorf("%s refers to %q", e.Name, ref)
			}
		}
		switch e.Name {
		case "TENON_REDIS":
			value = redis.URL
		case "TENON_CONFIG_DIR", "HOME", "XDG_DATA_HOME":
			value = dir
		}
		env = append(env, e.Name+"="+value)
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range c.Args { // NewReplacer would replace one part of an address
		for i := 0; i < len(replace); i += 2 {
			arg = strings.Replace(arg, replace[i], replace[i+1], 1)
		}
		args = append(args, arg)
	}
	said := &replica{}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for _, p := range []probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			resp, err := http.Get("http://" + addrs["9090"] + p.HTTPGet.Path)
			if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
				break
			}
			if time.Since(begin) > hangs {
				t.Fatalf("%s: %v\n%s", p.HTTPGet.Path, err, said.log())
			}
		}
	}
	if n := len(redis.Do("KEYS", "*")); n < 10 {
		t.Error("the replica has stored nothing")
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.log())
	}
}
