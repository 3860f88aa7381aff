// A form from each tool's schema, and what a call does.
import { action, attachments, busy, el, field, fill, json, notice, place, post, pretty, problems, table } from "./dom.js";

let chosen = "";
let effects = false;
const values = {}; // by tool, the arguments of the last call
let again = null; // shows the tool anew with what is typed

export async function show(main, args, about) {
  if (args[0]) chosen = args[0];
  effects = about.allow_effects;
  const answer = await post("registered");
  const tools = answer.output.tools || [];
  const search = field("Find a tool", { type: "search" });
  const list = el("ul", { class: "list" });
  const detail = el("section", { "aria-label": "The tool" });
  const draw = () => {
    const part = search.value.toLowerCase();
    const fits = tools.filter((t) => t.name.toLowerCase().includes(part));
    fill(list, fits.slice(0, 300).map((t) => el("li", {}, el("a", {
      href: `#tools/${encodeURIComponent(t.name)}`, ...(t.name === chosen ? { "aria-current": "true" } : {}) }, t.name))),
      fits.length > 300 ? el("li", {}, `${fits.length - 300} more: type a part of the name`) : "");
  };
  search.input.addEventListener("input", draw);
  draw();
  fill(main, el("h2", {}, "Tools"), problems(answer), el("div", { class: "columns narrow" },
    el("div", {}, search.box, list), detail));
  again = () => show(main, args, about);
  const tool = tools.find((t) => t.name === chosen);
  if (tool) drawTool(detail, tool);
  else fill(detail, tools.length ? "Choose a tool." : notice("info", "No plugin registers tools."));
}

// refresh shows the tools again. The form keeps what is typed.
export async function refresh(what) {
  if (what !== "plugins" || !again) return;
  try {
    remember();
  } catch {
    // an argument that is no JSON yet is lost
  }
  await again();
}

let remember = () => {};

function drawTool(node, tool) {
  const schema = tool.parameters || {};
  const inputs = Object.entries(schema.properties || {}).map(([name, s]) => input(tool.name, name, s, (schema.required || []).includes(name)));
  remember = () => {
    const args = {};
    for (const i of inputs) i.read(args);
    values[tool.name] = args;
    return args;
  };
  const result = el("section", { "aria-label": "The result" });
  const button = el("button", { type: "submit" }, "Call");
  const call = (question) => busy(button, result, () => post("call", question), (answer) => {
    draw(result, answer);
    if (question.approve || !lacksApproval(answer.output.call)) return;
    result.append(el("h4", {}, "The call waits for an approval"), el("p", {}, "It runs with these arguments if you approve it:"), json(pretty(question.args)),
      el("button", { type: "button", onclick: () => call({ ...question, approve: "auto" }) }, "Approve the call"));
  });
  const form = el("form", { onsubmit: (e) => {
    e.preventDefault();
    call({ tool: tool.name, args: JSON.stringify(remember()) });
  } }, inputs.map((i) => i.box), button);
  fill(node, el("h3", {}, tool.name), el("p", {}, `of ${tool.plugin} `, place(tool.plugin, tool.pos)),
    el("p", { class: "prose" }, tool.description), form,
    el("p", { class: "facts" }, effects ? "Effects that outlive the call run." : "Effects that outlive the call, such as fs.write, do not run: the result lists them. starhost ui --allow-effects runs them."), result);
}

// lacksApproval reports whether a call did not run because nobody could approve it.
function lacksApproval(c) {
  return c?.is_error && c.output.includes("approval is needed and nobody can give it");
}

// input makes the field of one property. A value without a simple field is JSON.
function input(tool, name, s, required) {
  const last = values[tool]?.[name];
  const label = `${name}${required ? "" : " (optional)"}`;
  const usual = s.default === undefined || s.default === null ? "" : JSON.stringify(s.default);
  const help = s.description ? el("p", { class: "help" }, s.description) : "";
  const box = (f) => el("div", {}, f.box, help);
  if (s.enum) {
    const f = field(label, {}, "select");
    for (const o of required ? s.enum : ["", ...s.enum]) f.input.append(el("option", { value: JSON.stringify(o), selected: o === last }, o === "" ? `default${usual && `: ${usual}`}` : String(o)));
    return { box: box(f), read: (args) => { const v = JSON.parse(f.value); if (v !== "" || required) args[name] = v; } };
  }
  if (s.type === "boolean") {
    const f = field(label, { type: "checkbox", checked: last ?? s.default ?? false });
    return { box: box(f), read: (args) => { args[name] = f.input.checked; } };
  }
  if (s.type === "integer" || s.type === "number") {
    const f = field(label, { type: "number", step: s.type === "integer" ? 1 : "any", required, placeholder: usual, value: last ?? "" });
    return { box: box(f), read: (args) => { if (f.value !== "") args[name] = Number(f.value); } };
  }
  if (s.type === "string") {
    const f = field(label, { rows: 1, required, placeholder: s.default ?? "", value: last ?? "" }, "textarea");
    return { box: box(f), read: (args) => { if (f.value !== "" || required) args[name] = f.value; } };
  }
  const f = field(`${label}, JSON`, { rows: 3, required, placeholder: usual, value: last === undefined ? "" : JSON.stringify(last) }, "textarea");
  return { box: box(f), read: (args) => { if (f.value.trim()) args[name] = parse(name, f.value); } };
}

function draw(node, answer) {
  const out = answer.output;
  const c = out.call;
  fill(node, problems(answer), c ? result(c) : "",
    out.would_run?.length ? table("These effects did not run:", ["plugin", "effect", "what"],
      out.would_run.map((w) => [w.plugin, w.effect, w.what])) : "",
    out.hooks?.length ? table("Handlers that ran", ["event", "plugin", "place", "said"], out.hooks.map((h) => [
      h.event, h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.detail]])) : "");
}

// result shows what the model gets, and what only the user gets.
function result(c) {
  return [el("h4", {}, c.is_error ? "Result: an error that the model reads" : "Result for the model"),
    c.output ? json(c.output) : el("p", {}, "It is empty."),
    c.for_user ? [el("h4", {}, "For the user"), json(c.for_user)] : "",
    c.attachments.length ? [el("h4", {}, "Attachments"), attachments(c.attachments)] : "",
    el("p", { class: "facts" }, `${c.steps} steps, ${c.alloc_bytes} bytes allocated`)];
}

function parse(name, text) {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`${name}: want JSON: ${err.message}`);
  }
}
