// The verdict of a finished job: whether it has learned, its findings, and what to do next about each.
import type { Job } from "../api";
import { VERDICTS } from "../ui/base";

interface Finding { code: string; severity: "note" | "warning" | "error"; text: string; try: string }

/** open: whether the findings are shown at first. */
export function Verdict({ job, open }: { job: Job; open: boolean }) {
  const verdict = job.result?.verdict as string | undefined;
  if (!verdict) return null;
  const findings = (job.result?.findings ?? []) as unknown as Finding[], word = <strong>{VERDICTS[verdict] ?? verdict}</strong>;
  return (
    <section class={`verdict ${verdict}`} aria-label="Verdict">
      {findings.length > 0 ? <details open={open} key={String(open)}><summary>{word} <span class="muted">· {findings.length} {findings.length === 1 ? "finding" : "findings"}</span></summary><ul>{findings.map((finding, i) => (
        <li key={i}><span class="tag">{finding.severity}</span> {finding.text} <span class="muted">{finding.code}</span>
          <div class="muted">Try: {finding.try.startsWith("motifctl ") ? <code>{finding.try.replaceAll("JOB", job.id)}</code> : finding.try}</div></li>
      ))}</ul></details> : word}
    </section>
  );
}
