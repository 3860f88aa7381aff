// The prompt that the model would get, as blocks, with who made each of them.
import { action, bar, busy, el, field, fill, json, place, post, problems, select, table } from "./dom.js";

const saved = {}; // the form's values, for the next visit
let before = null; // the blocks of the prompt before
let again = null;

const formats = ["json", "text", "openai", "responses", "anthropic"];

export async function show(main) {
  const inputs = {
    prompt: field("Question", { rows: 3, value: saved.prompt ?? "" }, "textarea"),
    fragments: field("References, one a line", { rows: 2, value: saved.fragments ?? "", placeholder: "runbook:checkout" }, "textarea"),
    system: field("System text", { rows: 1, value: saved.system ?? "" }, "textarea"),
    template: field("Template", { value: saved.template ?? "", placeholder: "PREFIX:ARG" }),
    session: field("Session", { value: saved.session ?? "", placeholder: "none: nothing is stored" }),
    now: field("Clock", { value: saved.now ?? "", placeholder: "2026-01-01T00:00:00Z" }),
  };
  const body = select("Request body", formats, saved.format ?? "json");
  const result = el("section", { "aria-label": "The prompt" });
  const button = el("button", { type: "submit" }, "Build the prompt");
  const form = el("form", { class: "question", onsubmit: (e) => { e.preventDefault(); run(); } },
    Object.values(inputs).map((f) => f.box), body.box, button);
  const run = () => busy(button, result, async () => {
    for (const [name, f] of Object.entries(inputs)) saved[name] = f.value;
    saved.format = body.value;
    const answer = await post("prompt", {
      ...saved, fragments: saved.fragments.split("\n").map((s) => s.trim()).filter(Boolean),
    });
    draw(result, answer);
  });
  again = run;
  fill(main, el("h2", {}, "Prompt"), form, result);
  if (saved.prompt || saved.fragments || saved.template) await run();
}

// refresh builds the prompt again. The blocks that changed are marked.
export async function refresh(what) {
  if (what === "plugins" && again && saved.prompt !== undefined) await again();
}

function draw(node, answer) {
  const out = answer.output;
  if (typeof out === "string" || !out.schema) {
    fill(node, problems(answer), typeof out === "string" && !out ? "" : json(out));
    return;
  }
  if (!out.prompt) {
    fill(node, problems(answer));
    return;
  }
  const list = blocks(out);
  const stable = before ? commonStart(before, list) : 0;
  const most = Math.max(1, ...out.hooks.map((h) => h.steps));
  fill(node, problems(answer),
    el("p", { class: "facts" }, `${out.prompt.bytes} bytes, about ${out.prompt.tokens.count} tokens, `,
      `${out.stats.saved_bytes} bytes saved by merging, ${out.stats.steps} steps`),
    el("h3", {}, "Blocks"),
    before ? el("p", {}, `The first ${stable} of ${list.length} blocks are those of the prompt before: a cache has them.`) : "",
    el("ol", { class: "blocks" }, list.map((b, i) => block(b, before && i < stable))),
    dropped(out),
    el("h3", {}, "Hooks"),
    table("Handlers in the order in which they ran", ["event", "plugin", "place", "said", "steps", "bytes"],
      out.hooks.map((h) => [h.event, h.plugin, place(h.plugin, h.pos),
        [action(h.action), " ", h.detail], bar(h.steps, most), String(h.alloc_bytes)])));
  before = list;
}

// blocks returns the parts of the prompt in their order: fragments, and the texts between them.
function blocks(out) {
  return [...parts(out, "system", out.prompt.system || ""), ...parts(out, "prompt", out.prompt.text || "")];
}

function parts(out, target, text) {
  const bytes = new TextEncoder().encode(text); // offsets count bytes
  const list = [];
  let at = 0;
  const between = (end) => {
    const rest = new TextDecoder().decode(bytes.subarray(at, end)).trim();
    if (rest) list.push({ id: "", text: rest, bytes: end - at, target, from: [{ plugin: "", source: "your words" }] });
  };
  const kept = out.fragments.filter((f) => f.status === "kept" && f.target === target);
  for (const f of kept.sort((a, b) => a.offset - b.offset)) {
    between(f.offset);
    list.push({ id: f.id.slice(0, 12), text: f.content, bytes: f.bytes, target, from: f.provenance || [] });
    at = f.offset + f.bytes;
  }
  between(bytes.length);
  return list;
}

function commonStart(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i].text === b[i].text && a[i].target === b[i].target) i++;
  return i;
}

function block(b, stable) {
  const from = b.from.map((p) => [p.plugin ? el("a", { href: `#plugins/${encodeURIComponent(p.plugin)}` }, p.plugin) : "", " ", p.source || ""]);
  return el("li", { class: stable ? "block stable" : "block" },
    el("p", { class: "facts" }, el("strong", {}, b.target), ` ${b.bytes} B `, b.id ? el("code", {}, b.id) : "",
      " ", from.map((f, i) => [i ? ", " : "", f]), stable ? " cached" : ""),
    el("pre", { tabIndex: 0 }, b.text));
}

// dropped shows the fragments that are not in the prompt, and why.
function dropped(out) {
  const list = out.fragments.filter((f) => f.status !== "kept");
  if (!list.length) return "";
  return [el("h3", {}, "Not in the prompt"),
    table("Fragments that merging left out", ["status", "bytes", "source", "reason"], list.map((f) => [
      f.status, String(f.bytes), (f.provenance || []).map((p) => `${p.plugin || "you"} ${p.source || ""}`).join(", "), f.reason || ""]))];
}

