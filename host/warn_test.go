package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// warningPlugin returns the plugin in the mode in which its decisions are only logged.
func warningPlugin(p starhost.Plugin) starhost.Plugin {
	p.Warn = true
	return p
}

// answering returns the plugin with the permission to answer calls of all tools.
func answering(p starhost.Plugin) starhost.Plugin {
	p.RespondsTo = []string{"*"}
	return p
}

// TestWarnMode checks that decisions of a plugin that only warns are logged and traced without
// effect, and that the denials of other plugins count.
func TestWarnMode(t *testing.T) {
	mustAsk := echo()
	mustAsk.Tools[0].Approval = starhost.ApprovalAsk
	tests := []struct {
		name    string
		plugins []starhost.Plugin
		want    string // the model's result
		logs    []string
		trace   []string
	}{
		{"a denial", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, deny)))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would deny: no"}, []string{"p1 would deny no"}},
		{"a denial, and another's", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, deny))), pluginWith(2, hook(pre, starhost.Deny("never")))}, "denied by p2: never",
			[]string{"p1 warn pre_tool_call echo: would deny: no"}, []string{"p1 would deny no", "p2 deny never"}},
		{"a guard that fails", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, failingHook(pre, "")))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would deny: the guard of p1 failed: division by zero", "p1 error hook pre_tool_call: division by zero"},
			[]string{"p1 error division by zero"}},
		{"of an approval", []starhost.Plugin{mustAsk, warningPlugin(pluginWith(1, hook(approval, deny))), pluginWith(2, hook(approval, approve))}, `{"text":"x"}`,
			[]string{"p1 warn approve_tool_call echo: would deny: no"}, []string{"p1 would deny no", "p2 approve"}},
		{"a question", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, askFor)))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would ask: sure?"}, []string{"p1 would ask sure?"}},
		{"an approval", []starhost.Plugin{mustAsk, warningPlugin(pluginWith(1, hook(approval, approve)))}, "denied by host: approval is needed and nobody can give it: tool echo asks for approval",
			[]string{"p1 warn approve_tool_call echo: would approve"}, []string{"p1 would approve"}},
		{"a change", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, args(`{"text":"y"}`)))), pluginWith(2, refusingHook("y", deny))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would modify: arguments"}, []string{"p1 would modify arguments", "p2"}},
		{"a change that is wrong", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, args(`[]`))))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would deny: the guard of p1 failed: modify: arguments: got [], want an object",
				"p1 error hook pre_tool_call: modify: arguments: got [], want an object"},
			[]string{"p1 error modify: arguments: got [], want an object"}},
		{"an abort", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook(pre, starhost.Decision{Action: starhost.ActionAbort, Reason: "stop"})))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would abort: stop"}, []string{"p1 would abort stop"}},
		{"an answer", []starhost.Plugin{echo(), warningPlugin(answering(pluginWith(1, hook(pre, starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: "no"}}))))}, `{"text":"x"}`,
			[]string{"p1 warn pre_tool_call echo: would respond: 2 B"}, []string{"p1 would respond 2 B"}},
		{"an end of the session", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, hook("post_tool_call", endSession)))}, `{"text":"x"}`,
			[]string{"p1 warn post_tool_call echo: would end_session: enough"}, []string{"p1 would end_session enough"}},
		{"of changed arguments", []starhost.Plugin{echo(), warningPlugin(pluginWith(1, refusingHook("y", deny))), pluginWith(2, hook(pre, args(`{"text":"y"}`)))}, `{"text":"y"}`,
			[]string{"p1 warn pre_tool_call echo: would deny: no"}, []string{"p1", "p2 modify arguments", "p1 would deny no"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logs []string
			h := newHost(t, host.Options{Log: func(l host.LogLine) {
				logs = append(logs, l.Plugin+" "+l.Level+" "+l.Text)
			}}, tt.plugins...)
			turn := begin(t, h, host.Request{Text: "x"})
			prompt(t, turn)
			diff(t, "result", tt.want, call(t, turn, "echo", `{"text":"x"}`).Result.ForLLM)
			diff(t, "logs", tt.logs, logs)
			diff(t, "trace", tt.trace, pluginTraces(turn))
		})
	}
}

// pluginTraces returns a text for each call of a handler in the turn.
func pluginTraces(turn *host.Turn) []string {
	var list []string
	for _, h := range turn.Hooks() {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", h.Plugin, h.Action, h.Detail)))
	}
	return list
}

// TestWarnModeWhenFired checks that Fire lists a denial in the mode "warn" among the decisions, and does not
// return it as the decision about the event.
func TestWarnModeWhenFired(t *testing.T) {
	h := newHost(t, host.Options{}, warningPlugin(pluginWith(1, hook(pre, deny))))
	out, err := begin(t, h, host.Request{Text: "x"}).Fire(context.Background(), &starhost.Event{Name: pre, Tool: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "decisions", []starhost.Decision{{Action: starhost.ActionWouldDeny, Reason: "no", Plugin: "p1", Pos: at("p.star", 1)}}, out.Decisions)
	diff(t, "decision", starhost.Decision{}, out.Decision)
}
