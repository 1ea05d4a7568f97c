// Bundles the page and writes it as C: two files (page, script), gzip'd, with the hash of their bytes.
//
//   node build.mjs OUT.c
//
// The script carries its hash in its name, so that it may be kept for ever. The style and the first requests (boot.ts) stand in the
// page, each allowed by its hash in the page's policy.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { complete, slimmer } from "./uplot.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const LIMIT = 60_000; // bytes of all that a browser fetches, gzip'd

async function bundle(entry, format) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format,
    ...(format === "esm" ? { jsxFactory: "jsxElement", jsxFragment: "jsxFragment", inject: [join(here, "src", "jsx.ts")] } : {}),
    tsconfigRaw: {},
    target: ["es2022"],
    charset: "utf8",
    legalComments: "none",
    plugins: [slimmer],
    logLevel: "warning",
    outdir: here,
  });
  return Object.fromEntries(result.outputFiles.map((f) => [f.path.endsWith(".css") ? "css" : "js", Buffer.from(f.contents)]));
}

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

const { js, css } = await bundle("main.tsx", "esm");
complete(js.toString());
const boot = (await bundle("boot.ts", "iife")).js.toString().trim(), look = css.toString().trim();
const script = `app-${hash(js).slice(0, 12)}.js`;
const parts = { script: `/assets/${script}`, boot, style: look };
const html = readFileSync(join(here, "src", "index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_all, name) => parts[name]);
const allowed = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const files = [
  file("", "text/html; charset=utf-8", Buffer.from(html)),
  file(script, "text/javascript; charset=utf-8", js),
];
const total = files.reduce((sum, f) => sum + f.packed.length, 0);
if (total > LIMIT) {
  console.error(`the page is ${total} bytes gzip'd, more than ${LIMIT}`);
  process.exit(1);
}
writeFileSync(
  process.argv[2],
  `/* Made from api/dashboard by its build.mjs. */\n#include "api/documents/dashboard.h"\n\n${files.map(array).join("\n")}
const struct dashboard_file dashboard_files[] = {\n${files.map(row).join("\n")}\n};
const size_t dashboard_file_count = ${files.length};
const char dashboard_boot_hash[] = "${allowed(boot)}", dashboard_style_hash[] = "${allowed(look)}";\n`,
);
console.log(`dashboard: ${files.map((f) => `${f.path || "page"} ${f.packed.length}`).join(", ")}; ${total} of ${LIMIT} bytes gzip'd`);
