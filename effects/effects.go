// Package effects owns everything that crosses the wall between a plugin and the
// world: what a plugin may do, and the Go code that does it.
//
// A [Permission] names one thing, such as reading some files. A plugin declares
// permissions, the operator grants them, and what holds is what both allow: a
// [World] is one plugin's way out. Each of its methods is an effect, and each
// effect goes through one function, which refuses what is not allowed, and what
// writes while other handlers run; takes the reply from a [Replay] or [Answers]
// instead of the world; notes in a [DryRun] what would outlive the session; and
// writes the effect down in its lane, from where the host's Options.Record carries
// it to a [Journal]. A refusal is a [PermissionError] that prints the line to add
// and where.
//
// [Files] is a folder that nothing leads out of, whatever its links say. A [Request]
// reaches only hosts and addresses that were granted, through redirects and
// resolvers that change their answers. A [Command] runs without a shell and ends
// with all that it started. A [Secret] is a text that can be sent where it belongs
// and read by nobody; [Secrets] take values that come back out of every reply.
// [StateOf] is what a plugin keeps for a session, a [KV] what it keeps for longer,
// [Draw] its repeatable randomness. [HostPlugin] is the plugin that resolves the
// host's own references: there the user typed the path, and typing it is the grant.
//
// Nothing here knows Starlark; the vocabulary of ctx is made of these methods
// elsewhere. Errors never show where on the machine a folder is.
package effects
