package fleet

import "github.com/starhost/starhost/bundle"

// The codes of errors of [Sync] and [Try].
const (
	codeOther = "E1003"
	codeFetch = "E1004"
	codeTry   = "E1005"
)

// Codes explains them, in order.
var Codes = []bundle.Code{
	{
		Code: codeOther, Title: "a bundle that this machine does not take",
		Text: "The archive is signed, and is not what the managed config asks for: it has another name, is not the version that pin names, or has a lower sequence than a version that this machine had. " +
			"The active version stays. To go back, set pin to the digest of the older version, or build the old content again: it gets a higher sequence.",
		Bad:  "starhost bundle build policy --name ops --sequence 1 -o ops.tar.gz\n",
		Good: "starhost bundle build policy --name ops -o ops.tar.gz\n",
	},
	{
		Code: codeFetch, Title: "a bundle that could not be fetched",
		Text: "The server could not be reached, took too long, or answered with something else than an archive: an error, a page that asks for a log-in, a redirect to another host. " +
			"The active version stays, and no call is refused because it is old. starhost sync tries again at its next round.",
		Bad:  "[bundles.ops]\nurl = \"https://policy.corp.example/stable/no-such-file.tar.gz\"\n",
		Good: "[bundles.ops]\nurl = \"https://policy.corp.example/stable/ops.tar.gz\"\n",
	},
	{
		Code: codeTry, Title: "a bundle that does not load or pass its cases",
		Text: "A plugin of the bundle does not load, a required one is missing, the bundle's config sets what it may not, or a golden case fails. The message names it. " +
			"starhost bundle build writes no such archive, and starhost sync leaves the active version in its place.",
		Bad:  "-- policy/plugins/guard.star --\ndef\n",
		Good: "-- policy/plugins/guard.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n",
	},
}
