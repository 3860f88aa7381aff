// Package decision records what plugins decided, and reads the records back.
//
// A [Record] describes one event that a host fired: its input, the answer of each handler with its effects,
// and the decision. The log is a folder of append-only files, one file for each day (UTC), with a line of
// JSON for each record. A [Log] appends records and a [Reader] reads them. Many processes may append at once,
// because a Log writes each record with one system call. Each write begins with a newline, so that a record
// never joins a line that a crash tore. A record whose set has many plugins names them only if no record shortly in
// front of it does.
//
// A record contains what a replay of the event needs, as far as the operator's choice and the masks allow,
// and lists what it lacks: see [Record.Masked], [Record.Cut] and [Record.Omitted].
//
// This package evaluates no plugins.
package decision
