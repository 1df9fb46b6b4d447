// Bundles the parts of CodeMirror that the console's editor uses into one file. See README.md.
//     node build.mjs FOLDER       writes codemirror.js and codemirror.txt (the licence) there
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const target = process.argv[2];

// The console's content security policy allows no <style> element. Where a document can adopt style sheets the module
// style-mod uses that for shadow roots alone; this lets it do so everywhere. The build stops if the place has changed.
const ONLY_SHADOWS = "if (!root.head && root.adoptedStyleSheets && win.CSSStyleSheet)";
const adopted = {
  name: "adopted-style-sheets",
  setup(bundle) {
    bundle.onLoad({ filter: /style-mod[\\/]src[\\/]style-mod\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (text.split(ONLY_SHADOWS).length !== 2) throw new Error("style-mod has changed: look at its StyleSet");
      return { contents: text.replace(ONLY_SHADOWS, "if (root.adoptedStyleSheets && win.CSSStyleSheet)"), loader: "js" };
    });
  },
};

const result = await build({
  entryPoints: ["entry.mjs"], bundle: true, minify: true, format: "esm", target: "es2022", charset: "utf8",
  legalComments: "none", metafile: true, write: false, plugins: [adopted],
});

const folders = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) folders.add(found[1]);
}
const lines = [], licences = new Map();
for (const name of [...folders].sort()) {
  const folder = join("node_modules", name);
  const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (about.license !== "MIT") throw new Error(`${name} has the licence ${about.license}`);
  lines.push(`${name} ${about.version}`);
  const file = (await readdir(folder)).find((each) => /^LICEN[SC]E/i.test(each));
  const text = (await readFile(join(folder, file), "utf8")).trim();
  licences.set(text, [...(licences.get(text) ?? []), name]);
}
const banner = `/* ${lines.join(", ")}. MIT licence: codemirror.txt. Built by manual/editor/build.mjs. */\n`;
await writeFile(join(target, "codemirror.js"), banner + result.outputFiles[0].text);
const parts = [...licences].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`);
await writeFile(join(target, "codemirror.txt"), parts.join(`\n${"-".repeat(80)}\n\n`));
