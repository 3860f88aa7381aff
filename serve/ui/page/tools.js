// A form from each tool's schema, and what a call does.
import { busy, el, field, fill, json, notice, place, post, problems, table } from "./dom.js";

let chosen = "";
let effects = false;
const values = {}; // by tool, the arguments of the last call

export async function show(main, args, about) {
  if (args[0]) chosen = args[0];
  effects = about.allow_effects;
  const answer = await post("list");
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
  const tool = tools.find((t) => t.name === chosen);
  if (tool) drawTool(detail, tool);
  else fill(detail, tools.length ? "Choose a tool." : notice("info", "No plugin registers tools."));
}

function drawTool(node, tool) {
  const schema = tool.parameters || {};
  const inputs = Object.entries(schema.properties || {}).map(([name, s]) => input(tool.name, name, s, (schema.required || []).includes(name)));
  const result = el("section", { "aria-label": "The result" });
  const button = el("button", { type: "submit" }, "Call");
  const form = el("form", { onsubmit: (e) => {
    e.preventDefault();
    busy(button, result, async () => {
      const args = {};
      for (const i of inputs) i.read(args);
      values[tool.name] = args;
      draw(result, await post("call", { tool: tool.name, args: JSON.stringify(args) }));
    });
  } }, inputs.map((i) => i.box), button);
  fill(node, el("h3", {}, tool.name), el("p", {}, `of ${tool.plugin} `, place(tool.plugin, tool.pos)),
    el("p", { class: "prose" }, tool.description), form,
    el("p", { class: "facts" }, effects ? "Effects that outlive the call run." : "Effects that outlive the call do not run: start starhost ui with --allow-effects."), result);
}

// input makes the field of one property. A value without a simple field is JSON.
function input(tool, name, s, required) {
  const last = values[tool]?.[name];
  const label = `${name}${required ? "" : " (optional)"}`;
  const help = s.description ? el("p", { class: "help" }, s.description) : "";
  const box = (f) => el("div", {}, f.box, help);
  if (s.enum) {
    const f = field(label, {}, "select");
    for (const o of required ? s.enum : ["", ...s.enum]) f.input.append(el("option", { value: JSON.stringify(o), selected: o === last }, String(o)));
    return { box: box(f), read: (args) => { const v = JSON.parse(f.value); if (v !== "" || required) args[name] = v; } };
  }
  if (s.type === "boolean") {
    const f = field(label, { type: "checkbox", checked: last ?? s.default ?? false });
    return { box: box(f), read: (args) => { args[name] = f.input.checked; } };
  }
  if (s.type === "integer" || s.type === "number") {
    const f = field(label, { type: "number", step: s.type === "integer" ? 1 : "any", required, value: last ?? "" });
    return { box: box(f), read: (args) => { if (f.value !== "") args[name] = Number(f.value); } };
  }
  if (s.type === "string") {
    const f = field(label, { rows: 1, required, value: last ?? "" }, "textarea");
    return { box: box(f), read: (args) => { if (f.value !== "" || required) args[name] = f.value; } };
  }
  const f = field(`${label}, JSON`, { rows: 3, required, value: last === undefined ? "" : JSON.stringify(last) }, "textarea");
  return { box: box(f), read: (args) => { if (f.value.trim()) args[name] = JSON.parse(f.value); } };
}

function draw(node, answer) {
  const out = answer.output;
  fill(node, problems(answer), el("h4", {}, "Result"), out.call ? json(out.call) : "",
    out.would_run?.length ? [notice("warning", "These effects did not run:"), json(out.would_run)] : "",
    table("Handlers that ran", ["event", "plugin", "place", "said"], (out.hooks || []).map((h) => [
      h.event, h.plugin, place(h.plugin, h.pos), `${h.action} ${h.detail}`])));
}
