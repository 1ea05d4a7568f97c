// The curves of a job. All charts show the same range of steps, which is in the address. The daemon reduces the number of points to what a chart can show.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { metrics, type Job, type Kind, type Phase, type Point } from "../api";
import { drawsAtOnce, FIRST_NAMES, POINTS, STORED, type ChartSpec } from "../first";
import { DASH, exponent, nameOf, number, percent } from "../format";
import type { LiveEvent } from "../live";
import { note, route } from "../router";
import { Fault } from "../ui/base";
import { Chart, type Band, type Line } from "../ui/chart";

const FORMATS: Record<ChartSpec["format"], ((value: number) => string) | undefined> = { number: undefined, share: (value) => percent(value, 3), power: (value) => exponent(value) };

/** The charts of the kind (`main`), and one chart for each metric that they do not show (`more`). */
function chartsOf(kind: Kind | undefined, job: Job): { main: ChartSpec[]; more: ChartSpec[] } {
  const main = kind?.charts ?? STORED[job.kind] ?? [], named = new Set(main.flatMap((c) => c.metrics));
  const rest = (kind?.metrics ?? []).filter((m) => !named.has(m.name))
    .map((m): ChartSpec => ({ title: nameOf(m.name), metrics: [m.name], targets: [], format: "number", log: false, stages: false }));
  return main.length ? { main, more: rest } : { main: rest, more: [] };
}

/** Stages of the annealing: ranges of steps with one target density. */
export function stages(density: Point[]): Band[] {
  const bands: Band[] = [];
  for (const [step, value] of density) {
    const last = bands.at(-1);
    if (value === null) continue;
    const label = exponent(value, 1);
    if (last && last.label === label) last.to = step;
    else bands.push({ from: last ? last.to : 0, to: step, label });
  }
  return bands;
}

type Data = Record<string, Point[]>;

/** Appends the points of `news` that are later than the last point of `old`. */
export function append(old: Data, news: Data): Data {
  const out = { ...old };
  for (const [name, points] of Object.entries(news)) {
    const have = out[name] ?? [], last = have.length ? have[have.length - 1][0] : -Infinity;
    const fresh = points.filter((p) => p[0] > last);
    if (fresh.length) out[name] = have.concat(fresh);
  }
  return out;
}

function useSeries(job: string, names: string[] | null, range: [number, number] | null, onEvent: { current: ((event: LiveEvent | null) => void) | null }) {
  const [data, setData] = useState<Data>({});
  const [fault, setFault] = useState<unknown>(null);
  const key = `${job} ${names?.join()} ${range?.join()}`;
  const pending = useRef<Data>({}), timer = useRef(0);

  useLayoutEffect(() => { // sends the first request before the browser paints, or uses the answer to the request of boot.ts
    if (!names) return undefined;
    const stop = new AbortController();
    let loaded = false;
    const settle = () => {
      timer.current = 0;
      if (!loaded) return;
      const news = pending.current;
      pending.current = {};
      setData((old) => {
        const next = append(old, news);
        if (Object.values(next).some((points) => points.length > 3 * POINTS)) load(); // the daemon reduces the number of points again
        return next;
      });
    };
    const load = () => {
      metrics(job, { names, since: range?.[0], until: range?.[1], points: POINTS }, stop.signal).then(
        (body) => {
          if (stop.signal.aborted) return;
          loaded = true;
          setFault(null);
          setData(body.series);
          if (Object.keys(pending.current).length) timer.current ||= window.setTimeout(settle, 0);
        },
        (e) => { if (!stop.signal.aborted) setFault(e); },
      );
    };
    load();
    onEvent.current = (event) => {
      if (range) return; // a range that the user chose does not grow
      if (event === null) return load();
      if (event.type !== "metric") return;
      const wanted = Object.fromEntries(Object.entries(event.data.series as Data).filter(([name]) => names.includes(name)));
      pending.current = append(pending.current, wanted);
      timer.current ||= window.setTimeout(settle, 250);
    };
    return () => {
      stop.abort();
      clearTimeout(timer.current);
      timer.current = 0;
      onEvent.current = null;
    };
  }, [key]);
  return { data, fault };
}

function SpecChart({ spec, data, bands, range, job }: { spec: ChartSpec; data: Data; bands: Band[]; range: [number, number] | null; job: string }) {
  const present = spec.metrics.filter((name) => data[name]?.length);
  const lines = useMemo<Line[]>(() => present.map((name) => ({
    label: name.length < 4 ? name.toUpperCase() : name.replaceAll("_", " "), points: data[name], dash: spec.targets.includes(name), step: spec.targets.includes(name), colour: spec.metrics.indexOf(name),
  })), [...spec.metrics.map((name) => data[name])]);
  if (!present.length) return null;
  return (
    <Chart title={spec.title} lines={lines} xLabel="samples" log={spec.log} unit={FORMATS[spec.format]} bands={spec.stages ? bands : undefined} bandNames={spec.metrics.includes("density")} sync={job} range={range}
      onRange={(next) => note({ from: next ? String(Math.round(next[0])) : null, to: next ? String(Math.round(next[1])) : null })} />
  );
}

/** The phases of the training, the present one marked. Closed until the user opens it. */
function Plan({ job }: { job: Job }) {
  const plan = job.plan ?? [], now = job.progress.phase ?? job.phase;
  if (plan.length === 0) return null;
  const rate = (r: Phase["learning_rate"]) => (r ? (r.from === r.to ? number(r.from) : `${number(r.from)}, ${r.curve} to ${number(r.to)}`) : DASH);
  return (
    <details class="plan"><summary>Plan of the training{now ? `: phase ${now}` : ""}</summary>
      <table><thead><tr>{["Phase", "Trains", "On", "Most samples", "Learning rate", "Ends when", "Then"].map((h) => <th key={h}>{h}</th>)}</tr></thead>
        <tbody>{plan.map((p) => <tr key={p.name} aria-current={p.name === now ? "step" : undefined}>
          <td>{p.name === now ? <strong>{p.name}</strong> : p.name}</td><td>{p.trains ?? DASH}</td><td>{p.objectives.join(", ") || DASH}</td><td>{p.samples ?? DASH}</td>
          <td>{rate(p.learning_rate)}</td><td>{p.until ?? DASH}</td><td>{p.then ?? DASH}</td></tr>)}</tbody></table></details>
  );
}

export function Curves({ job, kind, onEvent }: { job: Job; kind: Kind | undefined; onEvent: { current: ((event: LiveEvent | null) => void) | null } }) {
  const from = route.value.query.get("from"), to = route.value.query.get("to");
  const range: [number, number] | null = from !== null && to !== null ? [Number(from), Number(to)] : null;
  const [more, setMore] = useState(false);
  const { main, more: rest } = chartsOf(kind, job);
  const names = [...(drawsAtOnce(job) ? FIRST_NAMES : main.flatMap((c) => c.metrics)), ...(more ? rest : []).flatMap((c) => c.metrics)];
  const { data, fault } = useSeries(job.id, names.length ? names : null, range, onEvent);
  const bands = useMemo(() => stages(data.density ?? []), [data.density]);
  const any = Object.values(data).some((points) => points.length > 0);
  const chart = (spec: ChartSpec) => <SpecChart key={spec.title} spec={spec} data={data} bands={bands} range={range} job={job.id} />;
  return (
    <>
      <Fault fault={fault} />
      <Plan job={job} />
      {!any && <p class="empty">{job.state === "queued" ? "The job waits for a worker. Curves appear after its first updates." : "No points yet."}</p>}
      <div class="charts">{main.map(chart)}{more && rest.map(chart)}</div>
      {any && rest.length > 0 && !more && <p><button type="button" onClick={() => setMore(true)}>{rest.length} more curves</button></p>}
      {any && main.some((c) => c.stages) && <p class="hint">Bands are stages of the annealing, each with its target density. Drag over a chart to zoom in; double-click to show the whole range.</p>}
    </>
  );
}
