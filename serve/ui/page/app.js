// The page: the list of views, the address behind "#", and what changes on the disk.
import { el, fill, get, notice } from "./dom.js";
import * as decide from "./decide.js";
import * as log from "./log.js";
import * as plugins from "./plugins.js";
import * as prompt from "./prompt.js";
import * as sessions from "./sessions.js";
import * as start from "./start.js";
import * as tools from "./tools.js";

// A view has show(main, args, about), which fills the node, and may have refresh(what) for a change
// of "plugins" or of the "log".
const views = { start, prompt, decide, tools, log, sessions, plugins };
const titles = {
  start: "Start", prompt: "Prompt", decide: "Decide", tools: "Tools", log: "Log", sessions: "Sessions", plugins: "Plugins",
};
const main = document.getElementById("main");
const status = document.getElementById("status");
const problem = document.getElementById("problem");
let current = "";
let about = {};

async function route(focus) {
  const [name, ...args] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (name === "main") return main.focus();
  current = views[name] ? name : "start";
  document.title = `${titles[current]} – starhost inspector`;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const node = el("div"); // a view that is late fills a node that the page no longer shows
  fill(main, node);
  try {
    await views[current].show(node, args, about);
  } catch (err) {
    fill(node, notice("error", err.message));
  }
  if (focus) main.focus();
}

// showProblem shows a mistake of the plugins on the disk, on all views.
function showProblem(text) {
  problem.textContent = text;
  if (text) status.textContent = "";
}

// A textarea takes the key Enter itself; with Ctrl it sends the form.
addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) e.target.form?.requestSubmit();
});

// watch follows the changes of files. The browser connects again by itself. A hidden page does not
// wait, because a browser opens few connections to one server: it asks when it is visible again.
function watch() {
  let source = null;
  let late = 0;
  const refresh = (what) => {
    clearTimeout(late);
    late = setTimeout(async () => {
      try {
        if (views[current].refresh) await views[current].refresh(what);
        if (what === "plugins" && !problem.textContent) status.textContent = `Loaded again at ${new Date().toLocaleTimeString()}`;
      } catch (err) {
        status.textContent = err.message;
      }
    }, 50);
  };
  const open = () => {
    source = new EventSource("/api/changes");
    source.addEventListener("plugins", (e) => {
      showProblem(JSON.parse(e.data).problem);
      refresh("plugins");
    });
    source.addEventListener("log", () => refresh("log"));
    source.onerror = () => { status.textContent = "The connection to starhost is lost"; };
    source.onopen = () => { if (status.textContent.startsWith("The connection")) status.textContent = ""; };
  };
  document.addEventListener("visibilitychange", async () => {
    source.close();
    if (document.hidden) return;
    open();
    try {
      about = await get("about");
      showProblem(about.problem);
      if (views[current].refresh) {
        await views[current].refresh("plugins");
        await views[current].refresh("log");
      }
    } catch (err) {
      status.textContent = err.message;
    }
  });
  open();
}

fill(document.getElementById("views"), el("ul", {}, Object.keys(views).map((name) =>
  el("li", {}, (() => {
    const link = el("a", { href: `#${name}` }, titles[name]);
    link.dataset.view = name;
    return link;
  })()))));
addEventListener("hashchange", () => route(true));
try {
  about = await get("about");
  document.getElementById("workspace").textContent = about.workspace;
  showProblem(about.problem);
  await route(false);
  watch();
} catch (err) {
  fill(main, notice("error", err.message));
}
document.body.dataset.ready = "yes";
