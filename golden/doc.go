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
// [Format] describes the sections; docs/testing.md has the same with examples. builtins.CaseTable
// describes the steps of the section case.star.
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
//	…the line of report.Line, or with report = True the lines of report.Text…
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
// a "|". A line that would begin a section of the archive has a backslash in front, also in the
// other sections.
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
