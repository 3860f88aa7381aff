package main

import (
	"strings"
	"testing"
)

// TestResultForms checks that starhost can write the result of each command in all formats that the command
// has. A command without a result here prints while it runs.
func TestResultForms(t *testing.T) {
	results := map[string]any{
		"bundle build": &bundleReport{}, "bundle diff": &bundleDiff{}, "bundle show": &bundleReport{}, "bundle sign": &bundleReport{},
		"bundle verify": &bundleReport{}, "bench": benchResult{}, "check": checkReport{}, "command": commandReply{}, "config show": settingsReport{},
		"docs": reference{}, "eval": &evaluation{}, "fmt": formattedFiles{}, "fragments list": fragmentList{},
		"fragments show": shownFragment{}, "fragments set": namedFragment{}, "fragments remove": namedFragment{},
		"fragments gc": collection{},
		"hook doctor":  diagnoses{}, "hook install": installed{}, "hook uninstall": installed{}, "list": listing{},
		"log show": shownRecord{}, "log gc": collectedLog{}, "new plugin": newFiles{}, "new guard": newFiles{},
		"replay": &replayRun{}, "run": &runResult{}, "sessions list": sessionList{}, "sessions show": storedSession{},
		"sessions export": exportedSession{}, "sessions answer": answeredSession{}, "sessions rm": removal{},
		"sync": syncReport{}, "test": testSummary{}, "trust": &trustResult{}, "version": versionText(""),
	}
	whileRunning := strings.Fields("chat demo log lsp repl serve ui")
	for _, cmd := range allCommands(new(program).rootCommand(nil)) {
		command := commandName(cmd)
		if len(formatNames(cmd)) == 0 {
			continue
		}
		result := results[command]
		if result == nil && !strings.Contains(strings.Join(whileRunning, " "), command) {
			t.Errorf("%s has no result here", command)
		}
		for _, format := range formatNames(cmd) {
			if result != nil && !hasForm(result, format) {
				t.Errorf("%s: %T has no form for -F %s", command, result, format)
			}
		}
	}
}

// hasForm reports whether a result can be written in a format.
func hasForm(result any, format string) (ok bool) {
	switch format {
	case "json":
		_, ok = result.(jsonWriter)
	case "github":
		_, ok = result.(gitHubWriter)
	case "junit":
		_, ok = result.(jUnitWriter)
	case "gobench":
		_, ok = result.(goBenchWriter)
	case "md":
		_, ok = result.(markdownWriter)
	case "pyi":
		_, ok = result.(stubsWriter)
	case "openai", "responses", "anthropic":
		_, ok = result.(promptWriter)
	default:
		_, ok = result.(textWriter)
	}
	return ok
}
