// The verdict of a finished job: whether it has learned, its findings, and what to do next about each.
import type { Job, Json } from "../api";
import { number, percent } from "../format";
import { VERDICTS } from "../ui/base";

interface Finding { code: string; severity: "note" | "warning" | "error"; text: string; try: string }

/** How many test inputs a model reads right, with its interval, or how well it predicts numbers; "" if neither is known. */
function figure(result: Record<string, Json>): string {
  const e = (result.evidence ?? {}) as { read?: number; exact?: number; exact_low?: number; exact_high?: number };
  if (typeof e.exact === "number" && e.read) return `It reads ${percent(e.exact)} of ${number(e.read)} test inputs exactly right (95 % interval ${percent(e.exact_low)} to ${percent(e.exact_high)}).`;
  if (typeof result.r2 === "number") return `Its predictions explain ${percent(result.r2)} of the variance of the test inputs.`;
  return typeof result.exact === "number" && typeof result.samples === "number" ? `It reads ${percent(result.exact)} of ${number(result.samples)} test inputs exactly right.` : "";
}

/** open: whether the findings are shown at first. */
export function Verdict({ job, open }: { job: Job; open: boolean }) {
  const verdict = job.result?.verdict as string | undefined;
  if (!verdict) return null;
  const findings = (job.result?.findings ?? []) as unknown as Finding[], word = <><strong>{VERDICTS[verdict] ?? verdict}.</strong> {figure(job.result!)}</>;
  return (
    <section class={`verdict ${verdict}`} aria-label="Verdict">
      {findings.length > 0 ? <details open={open} key={String(open)}><summary>{word} <span class="muted">· {findings.length} {findings.length === 1 ? "finding" : "findings"}</span></summary><ul>{findings.map((finding, i) => (
        <li key={i}><span class="tag">{finding.severity}</span> {finding.text} <span class="muted">{finding.code}</span>
          <div class="muted">Try: {finding.try.startsWith("motifctl ") ? <code>{finding.try.replaceAll("JOB", job.id)}</code> : finding.try}</div></li>
      ))}</ul></details> : word}
    </section>
  );
}
