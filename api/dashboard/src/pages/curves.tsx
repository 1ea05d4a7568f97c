// The curves of a job. One range of steps for all of them, held in the address; the daemon thins what a chart cannot show.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { metrics, type Job, type Kind, type Point } from "../api";
import { FIRST_NAMES, POINTS } from "../first";
import { exponent, nameOf, percent } from "../format";
import type { LiveEvent } from "../live";
import { note, route } from "../router";
import { Fault } from "../ui/base";
import { Chart, type Band, type Line } from "../ui/chart";

interface Group { title: string; names: string[]; log?: boolean; unit?: (value: number) => string; bands?: boolean; dash?: string[]; step?: string[] }

const share = (value: number) => percent(value, 3);
const GROUPS: Record<string, Group[]> = {
  sparling: [
    { title: "Accuracy", names: ["accuracy", "target_accuracy"], unit: share, bands: true, dash: ["target_accuracy"], step: ["target_accuracy"] },
    { title: "Density", names: ["achieved_density", "density"], log: true, unit: (v) => exponent(v), bands: true, dash: ["density"], step: ["density"] },
    { title: "Loss", names: ["loss", "validation_loss"], log: true, bands: true },
    { title: "Motif errors", names: ["fpe", "fne", "ce"], unit: share, bands: true },
  ],
  superposition: [{ title: "Loss", names: ["loss", "test_loss", "analytic_loss"], log: true }],
};

/** Its first curves are known without the table of its kind. */
export const drawsAtOnce = (job: Job) => job.kind in GROUPS;

/** Those of the table, then every metric of the kind that none of them shows, for itself. */
function groupsOf(kind: Kind | undefined, job: Job): { main: Group[]; more: Group[] } {
  const main = GROUPS[job.kind] ?? [], named = new Set(main.flatMap((g) => g.names));
  const rest = (kind?.metrics ?? []).filter((m) => !named.has(m.name)).map((m) => ({ title: nameOf(m.name), names: [m.name] }));
  return main.length ? { main, more: rest } : { main: rest, more: [] };
}

/** Stages of the annealing: runs of one target density. */
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

/** Points that are new behind those that are there. */
export function append(old: Data, news: Data): Data {
  const out = { ...old };
  for (const [name, points] of Object.entries(news)) {
    const have = out[name] ?? [], last = have.length ? have[have.length - 1][0] : -Infinity;
    const fresh = points.filter((p) => p[0] > last);
    if (fresh.length) out[name] = have.concat(fresh);
  }
  return out;
}

function useSeries(job: string, names: string[] | null, range: [number, number] | null, heard: { current: ((event: LiveEvent | null) => void) | null }) {
  const [data, setData] = useState<Data>({});
  const [fault, setFault] = useState<unknown>(null);
  const key = `${job} ${names?.join()} ${range?.join()}`;
  const pending = useRef<Data>({}), timer = useRef(0);

  useLayoutEffect(() => { // before the paint: the first request, or the answer that boot.ts asked for
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
        if (Object.values(next).some((points) => points.length > 3 * POINTS)) load(); // let the daemon thin it again
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
    heard.current = (event) => {
      if (range) return; // a part of the past does not change
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
      heard.current = null;
    };
  }, [key]);
  return { data, fault };
}

function GroupChart({ group, data, bands, range, job }: { group: Group; data: Data; bands: Band[]; range: [number, number] | null; job: string }) {
  const present = group.names.filter((name) => data[name]?.length);
  const lines = useMemo<Line[]>(() => present.map((name) => ({
    label: name.length < 4 ? name.toUpperCase() : name.replaceAll("_", " "), points: data[name], dash: group.dash?.includes(name), step: group.step?.includes(name), colour: group.names.indexOf(name),
  })), [...group.names.map((name) => data[name])]);
  if (!present.length) return null;
  return (
    <Chart title={group.title} lines={lines} xLabel="sample" log={group.log} unit={group.unit} bands={group.bands ? bands : undefined} bandNames={group.title === "Density"} sync={job} range={range}
      onRange={(next) => note({ from: next ? String(Math.round(next[0])) : null, to: next ? String(Math.round(next[1])) : null })} />
  );
}

export function Curves({ job, kind, heard }: { job: Job; kind: Kind | undefined; heard: { current: ((event: LiveEvent | null) => void) | null } }) {
  const from = route.value.query.get("from"), to = route.value.query.get("to");
  const range: [number, number] | null = from !== null && to !== null ? [Number(from), Number(to)] : null;
  const [more, setMore] = useState(false);
  const { main, more: rest } = groupsOf(kind, job);
  const names = [...(GROUPS[job.kind] ? FIRST_NAMES : main.flatMap((g) => g.names)), ...(more ? rest : []).flatMap((g) => g.names)];
  const { data, fault } = useSeries(job.id, names.length ? names : null, range, heard);
  const bands = useMemo(() => stages(data.density ?? []), [data.density]);
  const any = Object.values(data).some((points) => points.length > 0);
  const chart = (group: Group) => <GroupChart key={group.title} group={group} data={data} bands={bands} range={range} job={job.id} />;
  return (
    <>
      <Fault fault={fault} />
      {!any && <p class="empty">{job.state === "queued" ? "The job waits for a worker; curves begin with its first updates." : "No points yet."}</p>}
      <div class="charts">{main.map(chart)}{more && rest.map(chart)}</div>
      {any && rest.length > 0 && !more && <p><button type="button" onClick={() => setMore(true)}>{rest.length} more curves</button></p>}
      {any && job.kind === "sparling" && <p class="hint">Bands are stages of the annealing, each with its target density. Drag over a chart for a part of it; a double click shows the whole again.</p>}
    </>
  );
}
