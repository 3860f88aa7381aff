"""Assembles prompts with pluggy: 10 plugins, each with a hook and a loader of 5
fragments of 4 KiB, of which 40 of 50 are unique; each content is sent once.

"new" makes all content in each prompt; "content" gives texts that plugins made once. The host
cannot distinguish them, so it hashes each content.
"""

import hashlib
import itertools
import sys

import pluggy

from timed import serve

spec = pluggy.HookspecMarker("bench")
impl = pluggy.HookimplMarker("bench")
BODY = "0123456789abcde\n" * 255


class Spec:
    @spec
    def load(self, arg): ...

    @spec
    def pre_llm_call(self, user_message): ...


class Plugin:
    def __init__(self, number):
        self.number = number
        self.texts = [self.text("fixed", j) for j in range(5)]

    def text(self, arg, j):
        return "%s %d\n" % (arg, (self.number * 5 + j) % 40) + BODY

    @impl
    def pre_llm_call(self, user_message):
        return "remember %d" % self.number


class Making(Plugin):
    @impl
    def load(self, arg):
        return [(self.text(arg, j), "%d/%d.md" % (self.number, j)) for j in range(5)]


class Holding(Plugin):
    @impl
    def load(self, arg):
        return [(self.texts[j], "%d/%d.md" % (self.number, j)) for j in range(5)]


manager = pluggy.PluginManager("bench")
manager.add_hookspecs(Spec)
make = Making if sys.argv[1] == "new" else Holding
for i in range(10):
    manager.register(make(i))
counter = itertools.count(10_000_001)


def prompt():
    arg = str(next(counter))
    seen, pieces, report = set(), [], []

    def add(content, source):
        digest = hashlib.sha256(content.encode()).digest()
        report.append((digest, source, len(content)))
        if digest not in seen:
            seen.add(digest)
            pieces.append(content)

    for fragments in manager.hook.load(arg=arg):
        for content, source in fragments:
            add(content, source)
    for text in manager.hook.pre_llm_call(user_message="Why is checkout slow?"):
        add(text, "pre_llm_call")
    pieces.append("Why is checkout slow?")
    return "\n".join(pieces)


serve(prompt)
