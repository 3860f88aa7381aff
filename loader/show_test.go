package loader_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
)

// shownSettings returns a line for each setting of a config, with its place.
func shownSettings(c *loader.Config) string {
	var b strings.Builder
	for _, s := range c.Settings() {
		b.WriteString(s.String())
		if s.Project {
			b.WriteString(" (project)")
		}
		if s.Place != (loader.Place{}) {
			b.WriteString("  # " + s.Place.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSettingsOfTheBuiltInLayer(t *testing.T) {
	const want = `plugins.paths = []
plugins.enabled = []
plugins.disabled = []
plugins.required = []
limits.steps = 1000000
limits.memory = "64MiB"
limits.timeout = "2s"
limits.source = "256KiB"
limits.output = "1MiB"
limits.rounds = 25
limits.answer = "4MiB"
prompt.dedup = "session"
prompt.render = "plain"
prompt.max_bytes = "1MiB"
prompt.max_fragment = "256KiB"
prompt.max_plugin = "512KiB"
prompt.max_attachments = 20
prompt.max_attachment = "8MiB"
prompt.max_pixels = 40000000
prompt.max_tokens = 0
tools.allow = ["*"]
tools.deny = []
tools.max_result = "256KiB"
model.default = ""
model.timeout = "10m0s"
store.url = "sqlite:"
store.fragments = ""
store.max_plugin = "64MiB"
store.keep = "90d"
serve.tools.roles = ["default"]
trust.pin = []
log.enabled = true
log.path = ""
log.keep = "30d"
log.max = "1GiB"
log.mask = ["default"]
log.include = []
log.required = false
log.fsync = false
log.all = false
log.send = ""
log.headers = []
shell.trusted = []
redact.patterns = []
`
	if diff := gocmp.Diff(want, shownSettings(parse(t, ""))); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestSettingsOfAll(t *testing.T) {
	const want = `plugins.paths = ["plugins", "/srv/plugins"]  # config.toml:3
plugins.enabled = ["oncall"]  # config.toml:4
plugins.disabled = ["old"]  # config.toml:5
plugins.required = ["policy"]  # config.toml:6
libraries.lib = "lib"  # config.toml:8
plugin.oncall.on = true  # config.toml:12
plugin.oncall.opts = {deep = [1, "x", {y = 2}]}  # config.toml:13
plugin.oncall.ratio = 0.5  # config.toml:11
plugin.oncall.rows = [{a = 1}]  # config.toml:14
plugin.oncall.team = "checkout"  # config.toml:10
plugin.policy.mode = "warn"  # config.toml:17
plugin.policy.limits.steps = 200000  # config.toml:18
plugin.policy.limits.memory = "1MiB"  # config.toml:18
plugin.policy.limits.timeout = "1s"  # config.toml:18
grants.oncall = ["secret:PAGER_TOKEN"]  # config.toml:20
secrets.OTHER.command = ["pass", "other"]  # config.toml:23
secrets.PAGER_TOKEN.file = "/run/secrets/pager"  # config.toml:22
limits.steps = 900000  # config.toml:25
limits.memory = "32MiB"  # config.toml:26
limits.timeout = "1.5s"  # config.toml:27
limits.source = "256KiB"
limits.output = "1MiB"
limits.rounds = 25
limits.answer = "4MiB"
prompt.dedup = "prompt"  # config.toml:29
prompt.render = "xml"  # config.toml:30
prompt.max_bytes = "2MiB"  # config.toml:31
prompt.max_fragment = 1000  # config.toml:32
prompt.max_plugin = "512KiB"  # config.toml:33
prompt.max_attachments = 21  # config.toml:34
prompt.max_attachment = "9MiB"  # config.toml:35
prompt.max_pixels = 41000000  # config.toml:36
prompt.max_tokens = 7  # config.toml:37
tools.allow = ["a*"]  # config.toml:39
tools.deny = ["b*"]  # config.toml:40
tools.max_result = "300KiB"  # config.toml:41
model.default = "acme/small"  # config.toml:43
model.timeout = "10m0s"
model.local.base_url = "http://127.0.0.1:11434/v1"  # config.toml:58
model.local.api = "responses"  # config.toml:59
model.local.models = ["llama", "*"]  # config.toml:60
model.local.api_key = "LOCAL_KEY"  # config.toml:61
model.local.context = 128000  # config.toml:62
model.local.fallback = ["openai/x"]  # config.toml:63
store.url = "none"  # config.toml:45
store.fragments = ""
store.max_plugin = "64MiB"
store.keep = "90d"
kinds.mcp__desktop__run.kind = "shell"  # config.toml:55
kinds.mcp__desktop__run.command = "cmd"  # config.toml:55
kinds.writer.kind = "write"  # config.toml:56
kinds.writer.paths = "target"  # config.toml:56
kinds.writer.content = "text"  # config.toml:56
mcp.github.command = ["github-mcp-server", "stdio"]  # config.toml:47
mcp.github.env = ["GITHUB_TOKEN"]  # config.toml:48
mcp.github.approval = "auto"  # config.toml:49
mcp.tickets.url = "https://tickets.internal/mcp"  # config.toml:51
mcp.tickets.token = "TICKETS_TOKEN"  # config.toml:52
mcp.tickets.timeout = "5m0s"  # config.toml:53
process.review.command = ["review-hook"]  # config.toml:79
process.review.env = ["REVIEW_TOKEN"]  # config.toml:80
process.review.intercept = ["after_tool", "before_tool"]  # config.toml:81
process.review.mode = "warn"  # config.toml:82
process.review.observe = ["agent.turn.end"]  # config.toml:83
process.review.timeout = "2s"  # config.toml:84
serve.tools.roles = ["day"]  # config.toml:65
trust.pin = ["srv/**"]  # config.toml:86
log.enabled = false  # config.toml:67
log.path = "audit"  # config.toml:68
log.keep = "7d"  # config.toml:69
log.max = "1MiB"  # config.toml:70
log.mask = ["default", "/input/arguments/*pin*"]  # config.toml:71
log.include = ["prompt", "writes"]  # config.toml:72
log.required = true  # config.toml:73
log.fsync = true  # config.toml:74
log.all = true  # config.toml:75
log.send = ""
log.headers = []
shell.trusted = ["make"]  # config.toml:88
redact.patterns = ["cust-[0-9]+"]  # config.toml:77
`
	if diff := gocmp.Diff(want, shownSettings(parse(t, full))); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestSettingsHidePasswords(t *testing.T) {
	got := shownSettings(parse(t, "[store]\nurl = \"postgres://me:hunter2@db/x\"\n"))
	if !strings.Contains(got, `store.url = "postgres://me:xxxxx@db/x"`) {
		t.Errorf("got %s", got)
	}
}

// The law: the settings of a config are TOML that parses to the same config.
func TestSettingsAreAConfig(t *testing.T) {
	odd := "[plugin.a]\n\"odd key\" = \"\\\"\\\\\\u007f<&>é\\n\\u2028\"\nf = 1e300\ng = 3.0\nh = -0.0\nempty = {}\nlist = []\nzero = 0\ndeep = { \"a.b\" = [ { c = [1.5] } ] }\n[plugin.\"with.dot\"]\nx = 1\n"
	for _, src := range []string{"", full, odd} {
		first := parse(t, src)
		var text strings.Builder
		for _, s := range first.Settings() {
			text.WriteString(s.String() + "\n")
		}
		second := parse(t, text.String())
		opts := gocmp.Options{
			cmpopts.IgnoreUnexported(loader.Config{}, starhost.Endpoint{}),
			cmpopts.IgnoreTypes(loader.Place{}), cmpopts.EquateEmpty(),
		}
		if diff := gocmp.Diff(first, second, opts); diff != "" {
			t.Errorf("config (-want +got):\n%s", diff)
		}
	}
}

// TestSettingsOfPrograms checks that the settings that a program made are shown, without a place.
func TestSettingsOfPrograms(t *testing.T) {
	c := parse(t, "")
	c.Plugin["a"] = &loader.PluginConfig{Mode: "warn"}
	if got := shownSettings(c); !strings.Contains(got, "\nplugin.a.mode = \"warn\"\n") || strings.Contains(got, "plugin.a.limits") {
		t.Errorf("got %s", got)
	}
}
