"""A hook in pluggy: "standard" reads 5 roles and 3 tool names, "noop" nothing."""

import sys

import pluggy

from timed import serve

spec = pluggy.HookspecMarker("bench")
impl = pluggy.HookimplMarker("bench")


class Spec:
    @spec
    def pre_llm_call(self, messages, tools): ...

    @spec
    def noop(self, messages, tools): ...


class Plugin:
    @impl
    def pre_llm_call(self, messages, tools):
        roles = ",".join([m["role"] for m in messages])
        names = ",".join([t["name"] for t in tools])
        return "roles " + roles + "; tools " + names

    @impl
    def noop(self, messages, tools):
        return None


MESSAGES = [{"role": "user" if i % 2 == 0 else "assistant", "content": "word " * 40} for i in range(5)]
TOOLS = [{"name": f"tool{i}", "description": "A tool."} for i in range(3)]

manager = pluggy.PluginManager("bench")
manager.add_hookspecs(Spec)
manager.register(Plugin())
hook = manager.hook.pre_llm_call if sys.argv[1] == "standard" else manager.hook.noop
serve(lambda: hook(messages=MESSAGES, tools=TOOLS))
