// The official client: what a server offers, and what comes of each kind of request.
// Usage: node client.mjs VERSION URL, or node client.mjs VERSION COMMAND ARGUMENT...
// VERSION is the one protocol version to speak, or "sessions" for the versions with sessions.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [version, target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const mode = version === "sessions" ? "legacy" : { pin: version };
const options = { versionNegotiation: { mode }, capabilities: { elicitation: {} } };
const client = new Client({ name: "e2e", version: "1" }, options);
let question = "";
client.setRequestHandler("elicitation/create", (request) => {
  question = request.params.message;
  return { action: "accept", content: {} };
});
await client.connect(transport);

const say = (what, value) => console.log(what + ": " + JSON.stringify(value));
say("tools", (await client.listTools()).tools.map((t) => t.name));
say("text", (await client.callTool({ name: "test_simple_text", arguments: {} })).content);
say("error", (await client.callTool({ name: "test_error_handling", arguments: {} })).isError);
say("problems", (await client.callTool({ name: "json_schema_2020_12_tool", arguments: { nam: 1 } })).content);
say("structured", (await client.callTool({ name: "json_schema_2020_12_tool", arguments: { name: "x" } })).structuredContent);
say("approved", (await client.callTool({ name: "test_input_required_result_elicitation", arguments: {} })).content);
say("question", question);
await client.callTool({ name: "none", arguments: {} }).catch((e) => say("unknown", e.code));
say("templates", (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate));
say("resource", (await client.readResource({ uri: "starhost://test///static-text" })).contents);
say("prompts", (await client.listPrompts()).prompts.map((p) => p.name));
say("prompt", (await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })).messages);
if (version !== "sessions") {
  await client.close();
  process.exit(); // stored fragments belong to a session
}
await client.getPrompt({ name: "noted" });
const stored = (await client.listResources()).resources;
say("stored", stored);
say("its content", (await client.readResource({ uri: stored[0].uri })).contents);
await client.close();
