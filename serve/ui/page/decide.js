// What handlers decide about an event: one of starhost's, or one that an agent sends.
import { action, busy, el, field, fill, json, notice, place, post, pretty, problems, select, suggest, table } from "./dom.js";
import { mark } from "./source.js";

const saved = { event: "pre_tool_call", args: '{"tool": "Bash", "arguments": {"command": "ls"}}', agent: "claude-code", command: "", json: "" };
let again = null;

// samples are values of the arguments of events that people type most.
const samples = {
  user_message: "Why is checkout slow?", tool: "Bash", arguments: { command: "kubectl delete pod web" }, agent: "claude-code",
  result: "done", is_error: false, response: "It is fine now.", model: "some-model",
};

export async function show(main, _args, about) {
  const result = el("section", { "aria-label": "The decision" });
  again = null;
  fill(main, el("h2", {}, "Decide"), el("div", { class: "columns" }, agentForm(result, about), eventForm(result, about)), result);
}

// agentForm asks about a command, or about any event that an agent sends.
function agentForm(result, about) {
  const agent = select("Agent", about.agents || [], saved.agent);
  const command = field("Command", { value: saved.command, placeholder: "kubectl delete pod web", spellcheck: false });
  const text = field("What the agent sends, JSON", { rows: 6, value: saved.json, spellcheck: false }, "textarea");
  const ask = el("button", { type: "submit" }, "Decide about the command");
  const send = el("button", { type: "submit" }, "Send to hook");
  const example = () => { text.value = exampleOf(about, agent.value, command.value || command.input.placeholder); };
  const run = (pressed) => busy(pressed, result, () => {
    Object.assign(saved, { agent: agent.value, command: command.value, json: text.value });
    return Promise.all([post("hook", { agent: saved.agent, event: saved.json }), post("registered")]);
  }, ([answer, all]) => {
    const others = (r) => absent(all.output.hooks || [], r.event, new Set(answer.ran), `${r.tool || "no tool"}${r.kind ? `, kind ${r.kind}` : ""}`);
    fill(result, answer.problem ? notice("error", answer.problem) : "", el("h3", {}, "Answer to the agent"),
      el("p", {}, `exit code ${answer.code}: ${answer.code === 2 ? "refused" : answer.code ? "failed" : "done"}`),
      answer.out ? [el("h4", {}, "Standard output"), json(pretty(answer.out))] : answer.code ? "" : el("p", {}, "Nothing: the agent goes on as without starhost."),
      answer.stderr ? [el("h4", {}, "Standard error"), json(answer.stderr)] : "",
      answer.records.length || answer.code ? "" : notice("info", "starhost fires no event for what the agent sent."),
      answer.records.map((r) => [record(r), others(r)]), mark(answer.reached));
  });
  const submit = (before) => (e) => { e.preventDefault(); before(); again = run; run(send); };
  return el("div", {}, el("h3", {}, "An event of an agent"),
    el("form", { onsubmit: submit(example) }, agent.box, command.box, ask),
    el("form", { onsubmit: submit(() => {}) }, text.box, el("p", { class: "buttons" }, send,
      el("button", { type: "button", class: "quiet", onclick: example }, "Example event"))));
}

// exampleOf returns an agent's event before a shell command, PicoClaw's has two lines.
function exampleOf(about, agent, command) {
  return pretty((about.examples?.[agent] || "").replaceAll('"@COMMAND@"', () => JSON.stringify(command)));
}

// eventForm fires one of starhost's events.
function eventForm(result, about) {
  const events = about.events || [];
  const event = field("Event", { value: saved.event, required: true });
  suggest(event, events.map((e) => e.name));
  const args = field("Arguments, JSON", { rows: 4, value: saved.args, spellcheck: false }, "textarea");
  const known = () => events.find((e) => e.name === event.value);
  const names = el("p", { class: "help" });
  const showNames = () => fill(names, known() ? `It has the arguments ${known().args.join(", ")}.` : "");
  event.input.addEventListener("input", showNames);
  showNames();
  const example = () => {
    const wanted = Object.entries(samples).filter(([name]) => (known()?.args || []).includes(name) || name === "agent" && known()?.args.includes("tool"));
    args.value = JSON.stringify(Object.fromEntries(wanted), null, 2);
  };
  const fire = el("button", { type: "submit" }, "Fire the event");
  const run = (pressed) => busy(pressed, result, () => {
    Object.assign(saved, { event: event.value, args: args.value });
    const question = { event: saved.event, args: saved.args };
    return Promise.all([post("fire", question), post("registered"), post("reach", question)]);
  }, ([answer, all, reach]) => {
    fill(result, problems(answer), decision(answer.output), handlers(answer.output.hooks || [], all.output.hooks || [], saved.event), mark(reach.output.reached));
  });
  return el("form", { onsubmit: (e) => { e.preventDefault(); again = run; run(fire); } }, el("h3", {}, "An event of starhost"), event.box, names, args.box,
    el("p", { class: "buttons" }, fire, el("button", { type: "button", class: "quiet", onclick: example }, "Example arguments")));
}

export async function refresh(what) {
  if (what === "plugins" && again) await again();
}

function decision(out) {
  if (!out.fire) return "";
  const d = out.fire.decision;
  return [el("h3", {}, "Decision"), el("p", {}, action(d.action), " ", d.reason),
    Object.keys(d.changes || {}).length ? json(d.changes) : "", d.result ? json(d.result) : "",
    out.fire.context?.length ? [el("h4", {}, "Context"), json(out.fire.context)] : ""];
}

// handlers shows those that ran, and those of the same event that did not.
function handlers(ran, all, event) {
  const places = new Set(ran.filter((h) => h.event === event).map((h) => h.pos));
  return [
    table("Handlers that ran", ["event", "plugin", "place", "said", "steps"], ran.map((h) => [
      h.event, h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.detail], String(h.steps)])),
    absent(all, event, places, "")];
}

// absent shows the handlers of an event that are not at the given places, and why they did not run.
function absent(all, event, places, got) {
  const others = all.filter((h) => h.event === event && !places.has(h.pos));
  if (!others.length) return all.some((h) => h.event === event) ? el("p", {}, `All handlers of ${event} ran.`) : notice("info", `No plugin has a handler of ${event}.`);
  return table("Handlers that did not run", ["plugin", "place", "why"], others.map((h) => [h.plugin, place(h.plugin, h.pos), why(h, got)]));
}

function why(h, got) {
  const wants = [];
  if (h.match?.length) wants.push(`match ${h.match.join(", ")}`);
  if (h.kind?.length) wants.push(`kind ${h.kind.join(", ")}`);
  if (!wants.length) return "an earlier handler ended the event";
  return `the event does not fit its ${wants.join(" or its ")}${got ? `: got ${got}` : ""}`;
}

// record shows one record of the decision log.
export function record(r) {
  return el("section", { class: "record" },
    el("h3", {}, `${r.event} ${r.tool || ""}`), el("p", {}, action(r.decision.action), " ", r.decision.reason || "", " ",
      r.decision.plugin ? place(r.decision.plugin, r.decision.pos) : ""),
    r.handlers?.length ? table("Handlers", ["plugin", "place", "said", "steps"], (r.handlers || []).map((h) => [
      h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.reason || ""], String(h.steps ?? "")])) : "",
    el("details", {}, el("summary", {}, "The whole record"), json(r)));
}
