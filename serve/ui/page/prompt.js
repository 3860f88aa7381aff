// The prompt that the model would get, as blocks, with who made each of them.
import { action, attachments, bar, busy, el, field, fill, fold, json, notice, place, post, problems, select, table } from "./dom.js";

const saved = {}; // the form's values, for the next visit
let last = null; // the last answer
let before = null; // the blocks of the prompt before
let again = null;

const often = ["prompt", "fragments"];
const rare = ["system", "params", "template", "session", "model", "now"];
const formats = [["json", "blocks and hooks"], ["text", "the text"], ["openai", "request body: openai"],
  ["responses", "request body: responses"], ["anthropic", "request body: anthropic"]];

export async function show(main) {
  const inputs = {
    prompt: field("Question", { rows: 3, value: saved.prompt ?? "" }, "textarea"),
    fragments: field("References, one a line", { rows: 3, value: saved.fragments ?? "", placeholder: "runbook:checkout" }, "textarea"),
    system: field("System text", { rows: 3, value: saved.system ?? "" }, "textarea"),
    params: field("Parameters of the template, one a line", { rows: 3, value: saved.params ?? "", placeholder: "NAME=VALUE" }, "textarea"),
    template: field("Template", { value: saved.template ?? "", placeholder: "PREFIX:ARG" }),
    session: field("Session", { value: saved.session ?? "", placeholder: "none: nothing is stored" }),
    model: field("Model", { value: saved.model ?? "", placeholder: "of the config" }),
    now: field("Clock", { value: saved.now ?? "", placeholder: "2026-01-01T00:00:00Z" }),
  };
  const view = select("Show", formats, saved.format ?? "json");
  const result = el("section", { "aria-label": "The prompt" });
  const button = el("button", { type: "submit" }, "Build the prompt");
  const form = el("form", { class: "question", onsubmit: (e) => { e.preventDefault(); run(button); } },
    often.map((name) => inputs[name].box), button,
    fold("More fields", saved.format && saved.format !== "json" || rare.some((name) => saved[name]), el("div", { class: "question" }, rare.map((name) => inputs[name].box), view.box)));
  const lines = (text) => text.split("\n").map((s) => s.trim()).filter(Boolean);
  const run = (pressed) => busy(pressed, result, () => {
    for (const [name, f] of Object.entries(inputs)) saved[name] = f.value;
    saved.format = view.value;
    return post("prompt", { ...saved, fragments: lines(saved.fragments), params: lines(saved.params) });
  }, (answer) => {
    if (last) before = blocks(last.output);
    draw(result, answer);
    if (answer.output.prompt && !answer.output.errors.length) last = answer;
  });
  // A session stores each prompt as a turn, so only the button builds one.
  again = async () => {
    if (saved.prompt === undefined) return;
    if (saved.session) result.prepend(notice("info", "The plugins changed. A prompt of a session is a turn of it, so the page does not build it again by itself."));
    else await run();
  };
  fill(main, el("h2", {}, "Prompt"), form, result);
  if (last && saved.session) draw(result, last);
  else if (saved.prompt || saved.fragments || saved.template) await run();
}

// refresh builds the prompt again. The blocks that changed are marked.
export async function refresh(what) {
  if (what === "plugins" && again) await again();
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
  const calls = [...(out.loads || []), ...out.hooks];
  const most = Math.max(1, ...calls.map((h) => h.steps));
  const ran = (caption, rows) => table(caption, ["event", "plugin", "place", "said", "steps", "bytes"], rows.map((h) => [
    h.event, h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.detail], bar(h.steps, most), String(h.alloc_bytes)]));
  fill(node, problems(answer),
    el("p", { class: "facts" }, `${out.prompt.bytes} bytes, about ${out.prompt.tokens.count} tokens, `,
      `${out.stats.saved_bytes} bytes saved by merging, ${out.stats.steps} steps`),
    cacheBreak(out.prompt.cache_break),
    el("h3", {}, "Blocks"),
    before ? difference(before, list, stable) : "",
    el("ol", { class: "blocks" }, list.map((b, i) => block(b, before ? mark(before, b, i < stable) : ""))),
    out.attachments.length ? [el("h3", {}, "Attachments"), attachments(out.attachments)] : "",
    dropped(out),
    el("h3", {}, "Hooks"),
    ran("Handlers in the order in which they ran", out.hooks),
    out.loads?.length ? ran("Loaders of the references and of the template", out.loads) : "");
}

// cacheBreak says why a provider's cache does not have the prompt before.
function cacheBreak(b) {
  if (!b) return "";
  return notice("warning", `The prompt differs from the one before at byte ${b.offset}: ${b.cause} `, place(b.plugin, b.pos));
}

// mark says how a block differs from the prompt before.
function mark(was, b, stable) {
  if (stable) return "cached";
  return was.some((w) => isSame(w, b)) ? "moved" : "new";
}

// words names the text between fragments.
function words(out, target) {
  const changed = out.fragments.some((f) => f.status === "changed" && f.target === target) ? " and what a hook changed" : "";
  if (target === "system") return `system text of the request${changed}`;
  return (saved.template ? "the template and your words" : "your words") + changed;
}

function isSame(a, b) { return a.text === b.text && a.target === b.target; }

// difference sums up the difference to the prompt before, and shows the blocks that are gone.
function difference(was, list, stable) {
  const gone = was.filter((w) => !list.some((b) => isSame(w, b)));
  const bytes = list.slice(0, stable).reduce((n, b) => n + b.bytes, 0);
  const fresh = list.filter((b) => !was.some((w) => isSame(w, b)));
  return [el("p", {}, `The first ${stable} of ${list.length} blocks (${bytes} bytes) are those of the prompt before, so that a cache has them. `,
    `New blocks: ${fresh.length}; gone: ${gone.length}.`),
    gone.length ? el("details", {}, el("summary", {}, "Blocks that are gone"),
      el("ol", { class: "blocks" }, gone.map((b) => block(b, "gone")))) : ""];
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
    if (rest) list.push({ id: "", text: rest, bytes: end - at, target, from: [{ plugin: "", source: words(out, target) }] });
  };
  const kept = out.fragments.filter((f) => f.status === "kept" && f.target === target);
  for (const f of kept.sort((a, b) => a.offset - b.offset)) {
    between(f.offset);
    list.push({ id: f.id.slice(0, 12), text: f.content, bytes: f.bytes, target, from: f.provenance || [], pos: f.pos });
    at = f.offset + f.bytes;
  }
  between(bytes.length);
  return list;
}

function commonStart(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && isSame(a[i], b[i])) i++;
  return i;
}

// block shows a part of the prompt. A click on it opens the plugin at the line that offered it.
function block(b, what) {
  const [first, ...more] = b.from;
  const from = [place(first.plugin, b.pos) || maker(first), first.plugin ? " " : "", first.source || ""];
  const line = b.pos && place(b.from[0].plugin, b.pos);
  const open = () => { if (!String(getSelection())) line.click(); };
  return el("li", { class: `block ${what}` },
    el("p", { class: "facts" }, el("strong", {}, b.target), ` ${b.bytes} B `, b.id ? el("code", {}, b.id) : "", " ", from, " ",
      what ? el("span", { class: "mark" }, what) : ""),
    more.length ? el("p", { class: "facts" }, "Also given by ", more.map((p, i) => [i ? ", " : "", maker(p), " ", p.source || ""]), ": the same text, so it is sent once.") : "",
    el("pre", { tabIndex: 0, ...(line ? { onclick: open, title: "Open the line that offered it" } : {}) }, b.text));
}

// maker links to a plugin.
function maker(p) {
  return p.plugin ? el("a", { href: `#plugins/${encodeURIComponent(p.plugin)}` }, p.plugin) : "";
}

const statuses = { in_session: "in the session", changed: "changed by a hook" };

// dropped shows the fragments that are not in the prompt, and why.
function dropped(out) {
  const list = out.fragments.filter((f) => f.status !== "kept");
  if (!list.length) return "";
  return [el("h3", {}, "Not in the prompt as offered"),
    table("Fragments that merging left out or that a hook changed", ["status", "bytes", "source", "reason"], list.map((f) => [
      statuses[f.status] || f.status, String(f.bytes), [(f.provenance || []).map((p) => `${p.plugin || "you"} ${p.source || ""}`).join(", "), " ",
        place(f.provenance?.[0]?.plugin, f.pos)], f.reason || ""]))];
}

