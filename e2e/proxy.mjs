// The official clients of OpenAI and Anthropic through the proxy: what they get of a reply that
// calls status, restart and wipe. Usage: node proxy.mjs URL TOOL...
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [url, ...names] = process.argv.slice(2);
const openai = new OpenAI({ apiKey: "none", baseURL: url + "/v1", maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
const parameters = { type: "object", properties: { service: { type: "string" } }, required: ["service"] };
const words = (text) => [{ role: "user", content: text }];
const list = (text) => text.split("\n").filter((line) => line).join("|");

const ask = {
  async chat(text, stream) {
    const body = {
      model: "m", messages: words(text),
      tools: names.map((name) => ({ type: "function", function: { name, description: name, parameters } })),
    };
    const reply = stream ? await openai.chat.completions.stream(body).finalChatCompletion() : await openai.chat.completions.create(body);
    const { message, finish_reason } = reply.choices[0];
    const calls = (message.tool_calls ?? []).map((c) => c.function.name + c.function.arguments);
    return [list(message.content ?? ""), calls.join(" "), finish_reason];
  },
  async responses(text, stream) {
    const body = {
      model: "m", input: words(text),
      tools: names.map((name) => ({ type: "function", name, description: name, parameters, strict: false })),
    };
    const reply = stream ? await openai.responses.stream(body).finalResponse() : await openai.responses.create(body);
    const texts = reply.output.filter((i) => i.type === "message").flatMap((i) => i.content.map((c) => c.text));
    const calls = reply.output.filter((i) => i.type === "function_call").map((i) => i.name + i.arguments);
    return [texts.join("|"), calls.join(" "), reply.status];
  },
  async messages(text, stream) {
    const body = {
      model: "m", max_tokens: 100, messages: words(text),
      tools: names.map((name) => ({ name, description: name, input_schema: parameters })),
    };
    const reply = stream ? await anthropic.messages.stream(body).finalMessage() : await anthropic.messages.create(body);
    const texts = reply.content.filter((b) => b.type === "text").map((b) => b.text);
    const calls = reply.content.filter((b) => b.type === "tool_use").map((b) => b.name + JSON.stringify(b.input));
    return [texts.join("|"), calls.join(" "), reply.stop_reason];
  },
};
for (const [dialect, run] of Object.entries(ask)) {
  for (const stream of [false, true]) {
    console.log(dialect, stream ? "stream" : "whole", ...(await run("Restart checkout", stream)));
    await run("something forbidden", stream).then(console.log, (e) => console.log(dialect, e.status, e.constructor.name));
  }
}
