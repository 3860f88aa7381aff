// Package effects owns everything that crosses the wall between a plugin and the world: the
// permissions of plugins, and the Go code that does what they allow.
//
// A [Permission] names one thing, such as reading some files. A plugin declares permissions and
// the operator grants them; a plugin may do what both allow. A [World] is one plugin's way out.
// Each of its methods is an effect, and each effect goes through one function, do. This
// function refuses an effect without permission, and refuses writes while other loaders run. It
// takes the reply from a [Replay] or from [Answers] if the world has one. In a [DryRun] it only
// lists the effects that would outlive the session. It removes the plugin's own secrets from
// the reply, and passes a line for the [Journal] to the lane, from where the host's Options.Record
// gets it. A refusal is a [PermissionError], which prints the line to add and where to add it.
//
// [Files] is a folder that no path and no link leads out of. A [Request] reaches only hosts and
// addresses that were granted, also after redirects and if a resolver changes its answers. A
// [Command] runs without a shell and ends with all processes that it started. A [Secret] is a
// text that a plugin can send where it belongs, and that no plugin can read; [Secrets] remove
// such values from texts that leave the plugin. [StateOf] returns a plugin's values for a
// session, a [KV] stores its values across sessions, and [Draw] gives it repeatable randomness.
// [HostPlugin] returns the plugin that resolves the host's own references: the user typed the
// path, and typing it is the grant.
//
// This package does not import Starlark; package builtins makes ctx from these methods. Errors
// never show where on the machine a folder is.
package effects
