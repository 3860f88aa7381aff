"""The standard hook in pluggy: it reads 5 roles and 3 tool names."""

import pluggy

from timed import serve

spec = pluggy.HookspecMarker("bench")
impl = pluggy.HookimplMarker("bench")


class Spec:
    @spec
    def pre_llm_call(self, messages, tools): ...


class Plugin:
    @impl
    def pre_llm_call(self, messages, tools):
        roles = ",".join([m["role"] for m in messages])
        names = ",".join([t["name"] for t in tools])
        return "roles " + roles + "; tools " + names


MESSAGES = [{"role": "user" if i % 2 == 0 else "assistant", "content": "word " * 40} for i in range(5)]
TOOLS = [{"name": f"tool{i}", "description": "A tool."} for i in range(3)]

manager = pluggy.PluginManager("bench")
manager.add_hookspecs(Spec)
manager.register(Plugin())
serve(lambda: manager.hook.pre_llm_call(messages=MESSAGES, tools=TOOLS))
