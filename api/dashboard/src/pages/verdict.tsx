// The verdict of a finished job: whether it has learned, its findings, and what to do next about each.
import type { Job } from "../api";
import { VERDICTS } from "../ui/base";

interface Finding { code: string; severity: "note" | "warning" | "error"; text: string; try: string }

export function Verdict({ job }: { job: Job }) {
  const verdict = job.result?.verdict as string | undefined;
  if (!verdict) return null;
  const findings = (job.result?.findings ?? []) as unknown as Finding[];
  return (
    <section class={`verdict ${verdict}`} aria-label="Verdict">
      <strong>{VERDICTS[verdict] ?? verdict}</strong>
      {findings.length > 0 && <ul>{findings.map((finding, i) => (
        <li key={i}><span class="tag">{finding.severity}</span> {finding.text} <span class="muted">{finding.code}</span>
          <div class="muted">Try: {finding.try.startsWith("motifctl ") ? <code>{finding.try.replaceAll("JOB", job.id)}</code> : finding.try}</div></li>
      ))}</ul>}
    </section>
  );
}
