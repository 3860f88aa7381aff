// Package loader turns what an operator names into plugins that run: it reads
// the config, finds plugin files, and evaluates them into a host.
//
// [LoadConfig] reads the config in layers and remembers where each setting was
// made. [Discover] finds plugins at the paths that the config or the command
// line names; each [Source] reads its own folder and nothing else, and each file
// once, so that a digest, the evaluation and a later read see the same bytes.
//
// A project's config comes with the code it configures and is not trusted: it
// can make its own plugins known and the host stricter. Anything else in it is
// ignored with a [Warning], until the operator trusts the project: the bytes of
// its config and plugins, as [TrustOptions] remembers them.
//
// [Load] does the rest. What it returns does not change; to reload is to load
// again and to use the new [Set], which is what [Live] does.
//
// The package knows nothing of Starlark itself: sources go to the sandbox as
// bytes, values pass through unseen.
package loader
