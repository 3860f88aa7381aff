// Package golden runs golden cases: a plugin, a few steps, and their expected output, in one
// file.
//
// It is no general test framework: a case cannot reach the machine, has no set-up except its
// own sections, and expects bytes, not properties. Other tests cover everything that is not the
// behaviour of a plugin: flags, exit codes, layers of config.
//
// # Cases
//
// A case is NAME/golden/*.txtar for a plugin folder NAME, or golden/NAME_*.txtar beside
// NAME.star. It is a txtar archive: prose that describes the expected behaviour, then sections.
//
//	case.star       the steps, in the vocabulary of builtins.CaseTable; required
//	want            the output of the steps; Update writes it
//	config.toml     the operator's config, and the only one; its paths begin at the
//	                case's folder
//	env             lines NAME=VALUE: environment variables
//	now             the time at the start, as 2026-03-01T09:00:00Z, or a day
//	effects.jsonl   replies to effects, in the lines of a journal; a case never does
//	                http and exec, so it fails if it does not answer them; Record
//	                does each of them once and writes it. A line is an effect and
//	                its reply, or the error with which it fails:
//	                {"http.get":{"url":"https://x.test/"},"reply":{"status":200,"body":""}}
//	                {"exec":{"argv":["date"]},"error":{"message":"no such program"}}
//	                lines with the same effect answer in turn
//	events.jsonl    the app.* events that the program around the plugins declares, a
//	                line each; fire fires them:
//	                {"name":"app.deploy","args":["service"],"actions":["deny"]}
//	                with "modify", the arguments that hooks may change, and "guard"
//	fragments/ALIAS a text in the store of fragments, under that alias; the case's
//	                prompts add theirs
//	session.json    the session at the start, if it began before:
//	                {"id": "s7", "turn": 3, "platform": "cli", "workspace": "/home/ada",
//	                "state": {"PLUGIN": {"KEY": 1}}, "store": {"PLUGIN": {"KEY": 1}}}; each member
//	                may be absent
//	workspace/FILE  a file of the workspace, which is in memory; a picture or
//	                other data as workspace/FILE.base64
//	plugins/FILE    NAME.star or NAME/plugin.star: further plugins; or all plugins
//	                of a case without a plugin beside it
//
// Any other section is an error. A plugin's file, a fragment, a file of the workspace, a
// variable, a time, an effect or an event that nothing reads is an error too, because the case
// would be the same without it. Prune removes such parts.
//
// A plugin is granted the permissions that it declares, unless config.toml has grants (NAME =
// [] grants nothing). An environment variable or secret NAME that env does not set has the
// value test-NAME. All steps share one session, of the platform "test" unless session.json says
// another, and one store. A turn lasts from one prompt step to the next, to a step that fails, or
// to a step that advances or sets the time. The time begins at 2026-01-01T00:00:00Z, unless now has
// another. A step outside of a turn begins a turn with an empty message.
//
// # Output
//
// Each step prints a heading and its result:
//
//	== prompt 1
//	[system]
//	…the request to the model; in a later prompt, only from the first message on…
//	[user]
//	…that differs from the previous prompt…
//
//	…the lines of report.Text…
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
//	…each request in the form of a prompt, which shows the replies and results so far…
//	== turn 1 answer
//	"Ada is on call."
//
// A text of one line is quoted, except a JSON object or list. The lines of a longer text follow
// a "|". A line that would begin a section of the archive has a backslash in front.
//
// # Running
//
// Each case runs twice. The first run plays the cases in order, and starts the loaders of each
// prompt one at a time. The second run plays the cases in reverse order, and starts the loaders
// in reverse order, two at a time. If the outputs differ, the case fails as nondeterministic,
// whatever its want is. With Once there is no second run, for a quick check while writing a
// plugin.
//
// Every run of a case has a new session. Cases of one plugin that have the same config and
// contain only files share a host, as the sessions of a program do. A state that leaks from one
// session to another therefore fails as nondeterministic too.
//
// Coverage is measured in a third run, which has a higher limit of steps and compares nothing,
// because counting costs steps. It counts the lines and branches of the plugins beside cases,
// including files that nothing loads, and of libraries. It does not count plugins inside of
// cases.
package golden
