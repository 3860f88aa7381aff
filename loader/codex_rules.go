package loader

import (
	_ "embed"
	"strings"
)

// rulesSuffix ends the name of a file of Codex' rules (~/.codex/rules/default.rules). Such a file
// is a plugin if PATH or [plugins] paths names it.
const rulesSuffix = ".rules"

// rulesGuard is the guard that follows the text of a file of rules.
//
//go:embed codex_rules.star
var rulesGuard string

// rulesFunctions defines the functions of a file of rules. It stands on the first line of the file,
// so that the numbers of lines remain.
const rulesFunctions = `_codex_rule_calls = []; _codex_host_calls = []; ` +
	`prefix_rule = lambda pattern, decision = "allow", justification = None, match = None, not_match = None: ` +
	`_codex_rule_calls.append((pattern, decision, justification, match, not_match)); ` +
	`host_executable = lambda name, paths = []: _codex_host_calls.append((name, paths)); ` +
	`network_rule = lambda *_args, **_kwargs: None; `

// pluginName returns the name of a plugin that is a single file.
func pluginName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".star"), rulesSuffix)
}

// isPluginFile reports whether a single file may be a plugin.
func isPluginFile(name string) bool {
	return strings.HasSuffix(name, ".star") || strings.HasSuffix(name, rulesSuffix)
}

// rulesPlugin returns the plugin for the text of a file of rules.
func rulesPlugin(src []byte) []byte {
	text := strings.TrimPrefix(string(src), "\ufeff")
	first, _, _ := strings.Cut(text, "\n")
	separator := ""
	for _, compound := range []string{"def ", "for ", "if "} { // these cannot follow a semicolon
		if strings.HasPrefix(first, compound) {
			separator = "\n"
		}
	}
	return []byte(rulesFunctions + separator + text + "\n" + rulesGuard)
}
