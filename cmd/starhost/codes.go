package main

import (
	"slices"

	"github.com/starhost/starhost/editor/check"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/starlark"
)

// codes explain the error codes that this package and the root package report.
var codes = slices.Concat(commonCodes, formatCodes, check.Codes, lint.Codes)

// commonCodes explain the codes that several commands report.
var commonCodes = []starlark.Code{
	{Code: "E0701", Title: "a mistake on the command line",
		Text: "A command, flag, argument or value that does not exist, or that does not go with the others. starhost COMMAND --help lists what there is.",
		Bad:  "starhost eval \"Why is p99 up?\"", Good: "starhost eval -p \"Why is p99 up?\""},
	{Code: "E0702", Title: "an unknown reference",
		Text: "No loader is registered for the reference's prefix, and there is no file of that name. starhost list loaders shows the prefixes.",
		Bad:  "starhost eval -f runbok:checkout", Good: "starhost eval -f runbook:checkout"},
	{Code: "E0703", Title: "too many fragments were asked for",
		Text: "starhost never drops fragments of -f and --sf, and these alone are over a limit of [prompt]. Ask for less, or raise the limit in the config.",
		Bad:  "starhost eval -f logs/", Good: "starhost eval -f logs/today.log"},
	{Code: "E0704", Title: "two plugins register one name",
		Text: "A host has each tool and each loader's prefix once. The message shows both places; the plugin that came first stays. Rename one, or disable one of the plugins.",
		Bad:  "-- a.star --\nregister_fragment_loader(\"note\", lambda arg: arg)\n-- b.star --\nregister_fragment_loader(\"note\", lambda arg: \"note \" + arg)\n",
		Good: "-- a.star --\nregister_fragment_loader(\"note\", lambda arg: arg)\n-- b.star --\nregister_fragment_loader(\"b-note\", lambda arg: \"note \" + arg)\n"},
	{Code: "E0705", Title: "a registration is not valid",
		Text: "A registration has an invalid name, schema, match or on_error. The message says what is valid.",
		Bad:  "def page():\n    \"\"\"Page somebody.\"\"\"\n\nregister_tool(page, name = \"page somebody\")\n",
		Good: "def page():\n    \"\"\"Page somebody.\"\"\"\n\nregister_tool(page, name = \"page_somebody\")\n"},
	{Code: "E0706", Title: "a handler broke its contract",
		Text: "A handler returned a value that its event or its loader cannot use, such as a decision that the event does not accept or a fragment that is not UTF-8. The message says what is valid.",
		Bad:  "register_hook(\"turn_start\", lambda: respond(\"no\"))\n",
		Good: "register_hook(\"turn_start\", lambda: abort(\"no\"))\n"},
	{Code: "E0707", Title: "the turn was aborted",
		Text: "A handler ended the turn before the prompt was complete, for the reason shown. An abort is a result, not a failure.",
		Bad:  "register_hook(\"turn_start\", lambda: abort(\"closed for today\"))\n",
		Good: "register_hook(\"turn_start\", lambda: \"Closed for today: say so.\")\n"},
	{Code: "E0708", Title: "a file or stream failed",
		Text: "A file that was named cannot be read or written, or standard output was closed.",
		Bad:  "starhost eval -p hi -o /no/such/folder/out", Good: "starhost eval -p hi -o out"},
	{Code: "E0709", Title: "interrupted",
		Text: "The user or the system stopped the program."},
	{Code: "E0710", Title: "a warning, and --strict",
		Text: "With --strict a warning is an error. The warning says what is ignored or has no effect.",
		Bad:  "[plugins]\ndisabled = [\"no-such-plugin\"]\n", Good: "[plugins]\ndisabled = []\n"},
	{Code: "E0712", Title: "a fragment is too large",
		Text: "A handler returned a fragment over [prompt] max_fragment, which is 256 KiB unless the config says otherwise. This is an error of the handler, because starhost never cuts a text silently. Return a part of it, or several fragments.",
		Bad:  "register_hook(\"pre_llm_call\", lambda: \"x\" * 300000)\n",
		Good: "register_hook(\"pre_llm_call\", lambda: text.truncate(\"x\" * 300000, 1000))\n"},
	{Code: "E0713", Title: "another process continued the session",
		Text: "Another process stored a turn of this session while the command ran, so its own turn is not stored. eval without --allow-effects runs its turn again for 5 seconds before it says so. Run the command again, or use another session."},
	{Code: "E0714", Title: "no such session",
		Text: "No session of this id is stored, or several agents have one. starhost sessions list shows the stored sessions; the message lists the digits that stand for one of several."},
	{Code: "E0715", Title: "a model did not answer",
		Text: "The endpoint of a model refused the request, could not be reached, or broke off its answer. The message says why; starhost tried again where that could help. The key, the name of the model and the base_url in [model.NAME] are the usual causes. starhost list models shows the endpoints."},
	{Code: "E0719", Title: "no question to answer",
		Text: "No turn of the session waits for an approval, or its question has an answer, is older than 24 hours, or is not the one of --question. starhost sessions show ID shows the question."},
	{Code: "E0724", Title: "the tests do not suffice",
		Text: "No case failed, but there is none, or the cases reach less of the plugins' lines than --fail-under wants. The message says which. --coverage shows the lines that no case reaches. With --allow-empty there may be no cases."},
	{Code: "E0723", Title: "the turn waits for an approval",
		Text: "A tool or a guard wants the approval of a person, and --approve later made the turn wait for it. starhost stored the turn. Answer the question by starhost sessions answer ID yes or no within 24 hours, and go on with the turn by starhost run --session ID, with the same plugins and without a prompt. The guards are asked again."},
}
