// Package loader reads the config, finds plugin files, and evaluates them into a host.
//
// [LoadConfig] reads the config in layers and stores the place of each setting. [Discover]
// finds plugins at the paths that the config or the command line names. Each [Source] reads
// its own folder only, and each file once, so that a digest, the evaluation and a later read
// see the same bytes.
//
// A project's config comes with the code that it configures, so starhost does not trust it:
// it may add the project's plugins and make the host stricter. starhost ignores its other
// settings with a [Warning], until the operator trusts the bytes of its config and plugins;
// see [TrustOptions].
//
// [Load] evaluates the plugins. A [Set] does not change; to reload plugins, [Live] loads a new
// Set and uses it from then on.
//
// The package does not depend on Starlark: it passes sources to the sandbox as bytes.
package loader
