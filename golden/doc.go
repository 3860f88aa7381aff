// Package golden runs golden cases: a plugin, a few steps, and the output that
// they must give, in one file.
//
// It is no general test framework: a case cannot reach the machine, has no
// set-up but its own sections, and expects bytes, not properties. What is not a
// plugin's doing (flags, exit codes, config layers) is tested elsewhere.
//
// # Cases
//
// A case is NAME/golden/*.txtar for a plugin folder NAME, or
// golden/NAME_*.txtar beside NAME.star. It is a txtar archive: prose that says
// what must hold, then sections.
//
//	case.star       the steps, in the vocabulary of builtins.CaseTable; required
//	want            what the steps print; written by Update
//	config.toml     the operator's config, the only one that is read; its paths
//	                begin at the case's folder
//	env             lines NAME=VALUE: environment variables
//	effects.jsonl   replies to effects, a line each as a journal has them; what goes
//	                out, http and exec, is never done, and a case fails that does
//	                not answer it; written by Record, which does it once
//	events.jsonl    the app.* events that the program around the plugins declares, a
//	                line each; fire fires them:
//	                {"name":"app.deploy","args":["service"],"actions":["deny"]}
//	                beside "modify", the arguments that may be changed, and "guard"
//	fragments/ALIAS a text that the store of fragments holds under that alias, beside
//	                what the case's prompts keep
//	workspace/FILE  a file of the workspace, which is in memory; a picture or
//	                other data as workspace/FILE.base64
//	plugins/FILE    NAME.star or NAME/plugin.star: further plugins, and all of
//	                them for a case that has no plugin beside it
//
// Any other section is an error, and so is a plugin's file, a fragment, a file of the
// workspace, a variable, an effect or an event that nothing looked at: the case would
// be the same without it. Prune removes those.
//
// A plugin is granted what it declares, unless config.toml has grants (NAME = []
// grants nothing). An environment variable that env does not set reads as
// test-NAME, and so do secrets. All steps share one session of the platform "test",
// and what plugins store. A turn lasts from one prompt step to the next, to a step
// that fails or to one that moves the time, which begins at 2026-01-01T00:00:00Z; a
// step outside of a turn begins one with an empty message.
//
// # Output
//
// Each step prints a heading and what it gave:
//
//	== prompt 1
//	[system]
//	…what the model is told; of a later prompt, from the first message on that…
//	[user]
//	…differs from the previous prompt's…
//
//	…the lines of [Report]…
//	== call_tool who_is_on_call
//	"Ada"
//	hooks        pre_tool_call: policy
//	== fire pre_tool_call restart_pods
//	deny: restarts in prod need a change ticket (policy.star:36:14)
//	== load_fragments runbook:checkout
//	  1  9f2c41d07ab3  latency.md  33 B
//	     | Check the payment gateway first.
//	log warn oncall: the runbook is old {"days":400}
//	== turn 1 request 1
//	…each request, as of prompt; replies and results are in the next one…
//	== turn 1 answer
//	"Ada is on call."
//
// A text of one line is quoted, a JSON object or list is not, and the lines of a
// longer text follow a "|". A line that would begin a section of the archive
// gets a backslash in front.
//
// # Running
//
// Each case runs twice: the cases in order and then last first, with the loaders
// of each prompt one at a time and then last first, two at a time. Where the outputs
// differ, the case fails as nondeterministic, whatever it wants. With Once there is no
// second run: a quick look, while a plugin is being written.
//
// Every run has a session of its own. Cases of one plugin that have the same config
// and bring nothing but files share a host, as the sessions of a program do: what
// leaks from one session to another is nondeterministic, too.
//
// Coverage is measured in a third run, which has a higher limit of steps and is compared with
// nothing, because counting costs steps. It counts the lines and branches of the plugins
// beside cases, with the files in their folders that nothing loads, and of libraries;
// not those that a case brings itself.
package golden
