// Package starhost says what a plugin is, in types that its parts agree on.
//
// A [Plugin] is a set of registrations: tools, hooks, fragment and template loaders, commands,
// skills and endpoints. A registration is a plain struct with a Go func, whether a .star file, a
// server or a Go program wrote it. An [Event] is what a hook hears, a [Decision] is its answer, a
// [Context] is what it offers for a prompt, and a [Message] is one entry of a conversation.
//
// Package host runs plugins. This package runs nothing, and imports no other part of the product
// but package fragments and package schema.
package starhost
