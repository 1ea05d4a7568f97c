// Validates manifests against Kubernetes' own OpenAPI document, which the package kubernetes-models has as validators and as types: the validators
// find wrong types, missing fields and values out of range; the type checker finds fields that do not exist, which validators let pass.
//
//   node check.mjs FILE.yaml ...        in a folder with the packages of package-lock.json
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { parseAllDocuments } = require("yaml");
const typed = [];
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    const value = document.toJS();
    if (document.errors.length > 0 || !value) {
      console.error(`${file}: ${document.errors.join("; ") || "an empty document"}`);
      faults++;
      continue;
    }
    const { apiVersion, kind } = value;
    const module = `kubernetes-models/${apiVersion}/${kind}`;
    try {
      const { [kind]: Model } = require(module);
      new Model(value).validate();
    } catch (error) {
      console.error(`${file}: ${kind} ${value.metadata?.name ?? value.metadata?.generateName}: ${error.message}`);
      faults++;
      continue;
    }
    typed.push(`import type { I${kind} as T${typed.length} } from "${module}";\nexport const m${typed.length}: T${typed.length} = ${JSON.stringify(value, null, 1)};\n`);
  }
}
writeFileSync("manifests.ts", typed.join(""));
const tsc = spawnSync(process.execPath, [require.resolve("typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "manifests.ts"]);
if (tsc.status !== 0) {
  console.error(String(tsc.stdout) + String(tsc.stderr));
  faults++;
}
console.log(`${typed.length} manifests, ${faults} faults`);
process.exit(faults || !typed.length ? 1 : 0);
