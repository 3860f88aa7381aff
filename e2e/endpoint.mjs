// A mock of three model endpoints for models_test.go: it prints its URL, and answers until it is
// stopped. The fault in the model's name decides how it fails.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, chunkSize: 5, strict: true });
const model = (fault) => ({ model: new RegExp(`^${fault}$`) });

mock.addFixture({ match: { ...model("broken"), userMessage: /./ }, response: { error: { message: "down", type: "server_error" }, status: 400 } });
mock.addFixture({
  match: { ...model("cut"), userMessage: /./ }, response: { content: "This answer breaks off in the middle." },
  truncateAfterChunks: 4,
});
mock.addFixture({
  match: { userMessage: /Restart/, hasToolResult: false },
  response: {
    content: "Let me do it.",
    toolCalls: [
      { name: "status", arguments: JSON.stringify({ service: "checkout" }) },
      { name: "restart", arguments: JSON.stringify({ service: "db" }) },
      { name: "wipe", arguments: JSON.stringify({ service: "db" }) },
    ],
  },
});
mock.addFixture({ match: { userMessage: /Restart/, hasToolResult: true }, response: { content: "The database is back." } });
mock.addFixture({ match: { userMessage: /picture/ }, response: { content: "I see a grey square." } });
mock.addFixture({ match: { userMessage: /earlier/ }, response: { content: "You asked me to restart it." } });

await mock.start();
console.log(mock.url);
