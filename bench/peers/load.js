// Loads all modules of a folder and registers what they export.
const fs = require("node:fs");
const path = require("node:path");

const folder = process.argv[2];
const tools = new Map();
const hooks = [];
for (const name of fs.readdirSync(folder).sort()) {
  const plugin = require(path.join(folder, name));
  for (const tool of plugin.tools) tools.set(tool.name, tool);
  hooks.push(...plugin.hooks);
}
console.log(tools.size, hooks.length);
