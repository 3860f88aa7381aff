// Package guard decides about tool calls by rules that people write as data.
//
// A rule names programs, paths or hosts, and says whether a call that matches is denied or needs a
// person. It matches a call, certainly does not, or may match: what a shell decides at run time may
// be anything. What may match is unknown, and unknown means ask.
//
// A hook process answers one event, so the package reads as little as it can: [Load] only cuts the
// text into rules and finds the programs that each names. A rule is decoded when a call has one of
// them. Examples are proved by [Set.Prove], for check and test, and never for an event.
//
// Read rules.go (a file of rules), packs.go (the rules that come with starhost), decide.go (all
// rules and one call), conditions.go (one rule and one command), paths.go (files and hosts). The
// package knows no plugin: a handler gives it the call and the parsed command line.
package guard
