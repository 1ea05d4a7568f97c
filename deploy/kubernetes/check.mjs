// Validates manifests against Kubernetes' own OpenAPI document, which the package kubernetes-models has as validators and as types: the validators
// find wrong types, missing fields and values out of range; the type checker finds fields that do not exist, which validators let pass.
//
//   node check.mjs FILE.yaml ...        in a folder with the packages of package-lock.json
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { parseAllDocuments } = require("yaml");
const END_SECONDS = 10; // the time in which the daemon ends after SIGTERM

/** What would keep a pod from ending well, or a node from being drained. */
function ends({ kind, spec }) {
  const faults = [], pod = spec?.template?.spec;
  if (kind === "StatefulSet") {
    const sleep = Math.max(0, ...pod.containers.map((c) => c.lifecycle?.preStop?.sleep?.seconds ?? 0)), grace = pod.terminationGracePeriodSeconds ?? 30;
    if (grace < sleep + END_SECONDS + 5) faults.push(`terminationGracePeriodSeconds ${grace} is less than preStop (${sleep} s), the daemon's end (${END_SECONDS} s) and a margin of 5 s`);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"])
      if (!pod.containers.every((c) => c[probe]?.httpGet?.httpHeaders?.some((h) => h.name === "Host"))) faults.push(`${probe} is missing or names no Host`);
    if (spec.replicas !== 1) faults.push("the database has one writer: replicas must be 1");
  }
  if (kind === "PodDisruptionBudget" && spec.maxUnavailable === 0) faults.push("maxUnavailable 0 lets kubectl drain wait for ever");
  if (kind === "Ingress" && !(spec.tls?.length > 0 && spec.rules.every((rule) => spec.tls.some((t) => t.hosts.includes(rule.host))))) faults.push("a host has no TLS");
  return faults;
}

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
    for (const fault of ends(value)) {
      console.error(`${file}: ${kind} ${value.metadata?.name}: ${fault}`);
      faults++;
    }
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
