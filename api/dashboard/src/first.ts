// The charts of each kind, stored by an earlier visit, so that a job's first curves do not wait for the large document of all kinds.
export interface ChartSpec { title: string; metrics: string[]; targets: string[]; format: "number" | "share" | "power"; log: boolean; stages: boolean }
export const POINTS = 1200; // points that the page requests of each series: no chart is more pixels wide
const STORE = "motifd-charts";

/** The charts of each kind as an earlier visit has stored them; empty on the first visit. */
function stored(): Record<string, ChartSpec[]> {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "{}") as Record<string, ChartSpec[]>;
  } catch {
    return {};
  }
}
export const STORED = stored();
/** The metrics of all these charts. boot.ts requests them before it knows the job's kind; curves.tsx must build the same address to use that answer. */
export const FIRST_NAMES = [...new Set(Object.values(STORED).flatMap((charts) => charts.flatMap((chart) => chart.metrics)))];

/** Whether an earlier visit stored the charts of this kind, so that they can be drawn before /v1/kinds arrives. */
export const drawsAtOnce = (job: { kind: string }) => job.kind in STORED;

export function storeCharts(kinds: { kind: string; charts: ChartSpec[] }[]): void {
  try {
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(kinds.filter((k) => k.charts.length > 0).map((k) => [k.kind, k.charts]))));
  } catch {
    /* without storage, every visit loads the kinds before the first curves */
  }
}

export function metricsPath(job: string, range: { names?: string[]; since?: number; until?: number; points?: number }): string {
  const query = new URLSearchParams();
  if (range.names) query.set("name", range.names.join(","));
  if (range.since !== undefined) query.set("since", String(Math.max(0, Math.floor(range.since))));
  if (range.until !== undefined) query.set("until", String(Math.max(0, Math.ceil(range.until))));
  if (range.points) query.set("max_points", String(range.points));
  return `/v1/jobs/${job}/metrics?${query}`;
}
