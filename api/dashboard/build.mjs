// Bundles the page and writes its files (page and scripts) as C arrays, compressed with gzip, each with the hash of its bytes.
//
//   node build.mjs OUT.c
//
// Each view of the page is a script of its own, which the browser loads when the view is opened. The names of the scripts contain their hashes,
// so that browsers may cache them for ever. The style that all views share and the script boot.ts, which requests the scripts and data of the first view, are inside
// the page. The page's policy allows each by its hash.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { complete, slimmer } from "./uplot.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const LIMIT = 115_000; // upper limit of the compressed bytes of all files
const FIRST_LIMIT = 45_000; // upper limit of the compressed bytes that a browser fetches to show any first view

async function bundle(entry, more) {
  return build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    tsconfigRaw: {},
    target: ["es2022"],
    charset: "utf8",
    legalComments: "none",
    plugins: [slimmer],
    logLevel: "warning",
    outdir: here,
    absWorkingDir: here,
    ...more,
  });
}

/** Every script of a view imports what all views need, so that esbuild puts it into one script. */
const common = {
  name: "common",
  setup: (build) => build.onLoad({ filter: /src\/(main|pages\/\w+|ui\/chart)\.tsx$/ }, ({ path }) => ({ contents: `import "${join(here, "src", "common")}";\n${readFileSync(path, "utf8")}`, loader: "tsx" })),
};

/** The style of a view is a part of its script, which adds it to the page when the browser loads it. */
const styles = {
  name: "styles",
  setup: (build) => build.onLoad({ filter: /src\/pages\/.*\.css$/ }, async ({ path }) => {
    const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
    return { contents: `const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(code.trim())}); document.adoptedStyleSheets.push(sheet);`, loader: "js" };
  }),
};

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 32);

function file(path, type, bytes) {
  return { path, type, bytes, packed: gzipSync(bytes, { level: 9 }), tag: hash(bytes) };
}

function row(f, i) {
  return `    {"${f.path}", "${f.type}", "${f.tag}", bytes_${i}, sizeof bytes_${i}, ${f.bytes.length}},`;
}

function array(f, i) {
  const lines = [];
  for (let at = 0; at < f.packed.length; at += 24) {
    lines.push("    " + [...f.packed.subarray(at, at + 24)].map((b) => `${b},`).join(""));
  }
  return `static const unsigned char bytes_${i}[] = {\n${lines.join("\n")}\n};\n`;
}

const made = await bundle("main.tsx", {
  format: "esm", splitting: true, metafile: true, entryNames: "app-[hash]", chunkNames: "[name]-[hash]",
  jsxFactory: "jsxElement", jsxFragment: "jsxFragment", inject: [join(here, "src", "jsx.ts")], plugins: [slimmer, common, styles],
});
/** esbuild writes hashes in capitals, but the daemon's names of files have small letters. */
const small = (text) => Object.keys(made.metafile.outputs).reduce((all, name) => all.replaceAll(name, name.toLowerCase()), text);
const scripts = made.outputFiles.filter((f) => f.path.endsWith(".js")).map((f) => ({ path: small(f.path), text: small(f.text) })), look = made.outputFiles.find((f) => f.path.endsWith(".css")).text.trim();
complete(scripts.map((f) => f.text).join("\n"));

/** The script `name` and every script that it imports at once. */
function closure(name, seen = new Set()) {
  if (!seen.has(name)) {
    seen.add(name);
    for (const use of made.metafile.outputs[name].imports) if (use.kind === "import-statement") closure(use.path, seen);
  }
  return [...seen];
}

const entries = Object.entries(made.metafile.outputs).filter(([, output]) => output.entryPoint && !output.cssBundle);
const app = Object.entries(made.metafile.outputs).find(([, output]) => output.cssBundle)[0], always = closure(app);
/** The scripts of each view, by the name of its source file, without those that every view needs. */
const views = Object.fromEntries(entries.map(([name, output]) => [basename(output.entryPoint).replace(/\.tsx?$/, ""),
  closure(name).filter((file) => !always.includes(file)).map((file) => `/assets/${small(file)}`)]));
const boot = (await bundle("boot.ts", { format: "iife", define: { VIEWS: JSON.stringify(views) } })).outputFiles[0].text.trim();
const preload = always.filter((file) => file !== app).map((file) => `<link rel="modulepreload" href="/assets/${small(file)}">`).join("");
const parts = { script: `/assets/${small(app)}`, preload, boot, style: look };
const html = readFileSync(join(here, "src", "index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_all, name) => parts[name]);
const allowed = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const files = [
  file("", "text/html; charset=utf-8", Buffer.from(html)),
  ...scripts.map((f) => file(basename(f.path), "text/javascript; charset=utf-8", Buffer.from(f.text))),
];
const packed = (name) => files.find((f) => f.path === small(name)).packed.length;
const total = files.reduce((sum, f) => sum + f.packed.length, 0), frame = packed("") + always.reduce((sum, name) => sum + packed(name), 0);
/** What a browser fetches to show a view first; a part of a job's page also needs the frame of that page. */
const PARTS = ["answer", "review", "curves", "motifs", "factors", "rug", "layers", "tree", "result", "config", "files"];
const first = Object.entries(views).map(([name, list]) => {
  const needed = new Set([...list, ...(PARTS.includes(name) ? views.job : [])]);
  return [name, frame + [...needed].reduce((sum, path) => sum + packed(basename(path)), 0)];
});
const most = Math.max(...first.map(([, bytes]) => bytes));
if (total > LIMIT || most > FIRST_LIMIT) {
  console.error(`the page is ${total} bytes gzip'd (limit ${LIMIT}), its largest first view ${most} (limit ${FIRST_LIMIT}): ${first.map((f) => f.join(" ")).join(", ")}`);
  process.exit(1);
}
writeFileSync(
  process.argv[2],
  `/* Made from api/dashboard by its build.mjs. */\n#include "api/documents/dashboard.h"\n\n${files.map(array).join("\n")}
const struct dashboard_file dashboard_files[] = {\n${files.map(row).join("\n")}\n};
const size_t dashboard_file_count = ${files.length};
const char dashboard_boot_hash[] = "${allowed(boot)}", dashboard_style_hash[] = "${allowed(look)}";\n`,
);
console.log(`dashboard: ${total} of ${LIMIT} bytes gzip'd in ${files.length} files; first view at most ${most} of ${FIRST_LIMIT}: ${first.map((f) => f.join(" ")).join(", ")}`);
