// What the first curves of a job are made of: asked for by boot.ts before the page's script is here, and by curves.tsx in the same words.
export const FIRST_NAMES = ["accuracy", "target_accuracy", "achieved_density", "density", "loss", "validation_loss", "fpe", "fne", "ce", "test_loss", "analytic_loss"];
export const POINTS = 1200; // of a series; charts are narrower

export function metricsPath(job: string, range: { names?: string[]; since?: number; until?: number; points?: number }): string {
  const query = new URLSearchParams();
  if (range.names) query.set("name", range.names.join(","));
  if (range.since !== undefined) query.set("since", String(Math.max(0, Math.floor(range.since))));
  if (range.until !== undefined) query.set("until", String(Math.max(0, Math.ceil(range.until))));
  if (range.points) query.set("max_points", String(range.points));
  return `/v1/jobs/${job}/metrics?${query}`;
}
