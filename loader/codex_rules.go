package loader

import _ "embed"

// rulesSuffix ends the name of a file of Codex' rules (~/.codex/rules/default.rules). Such a file
// is a plugin if PATH or [plugins] paths names it.
const rulesSuffix = ".rules"

// rulesLibrary is the name of the library that has the guard for files of Codex' rules. Errors show no place
// in a file whose name begins with "$".
const rulesLibrary = "$rules"

// rulesGuard is the text of the library.
//
//go:embed codex_rules.star
var rulesGuard string

// rulesFunctions is a line that defines the functions of a file of rules. starhost puts it before the file's
// first line.
const rulesFunctions = `load("$rules", _rules = "rules"); prefix_rule, host_executable, network_rule = _rules()`

// rulesPermissions are what a file of rules declares: the scripts that a line runs. The operator grants it.
var rulesPermissions = []string{"fs.read:**"}
