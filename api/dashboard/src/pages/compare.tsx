// Compares jobs: their curves in one chart, the results and settings that differ, and how far two models mark the same positions.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, kinds, metrics, send, type Job, type Json, type Kind, type Point } from "../api";
import { isResearch, isShare, nameOf, number, percent, show, title } from "../format";
import { href, note, route } from "../router";
import { Choice, Fault, Section, StateMark, Table, useLoad } from "../ui/base";
import { ChannelMark, channelNames } from "../ui/channel";
import { Chart, type Line } from "../ui/chart";
import { later } from "../ui/later";
import "./compare.css";

const Beside = later(() => import("./answer/beside").then((m) => m.Beside));

interface Agreement { samples: number; agreement: number; least_agreement: number; channels: { channel: number; other: number | null; motifs: number; other_motifs: number; together: number; agreement: number }[] }

const shown = (name: string, value: Json | undefined): string => show(name, value ?? null).replace(/^(.{8}).{24,}$/, "$1…");
const simple = (value: Json | undefined): boolean => value === null || typeof value !== "object";

/** Why the daemon cannot match what these jobs have learned; null if it can. */
function obstacle(jobs: Job[], kinds: Kind[] | null): string | null {
  if (!kinds || jobs.length < 2) return null;
  const names = [...new Set(jobs.map((j) => j.kind))], evaluation = jobs.find((j) => j.task !== "train"), young = jobs.find((j) => j.state !== "succeeded" && !j.progress.samples);
  if (names.length > 1) return `The jobs are of different kinds (${names.join(", ")}). The daemon matches models of one kind only.`;
  if (evaluation) return `${title(evaluation)} is an evaluation and has no model of its own. Choose the job that it evaluates.`;
  if (!kinds.find((k) => k.kind === names[0])?.comparable) return `Models of the kind ${names[0]} have no channels that could be matched.`;
  return young ? `${title(young)} has not trained yet and has no model.` : null;
}

function Motifs({ jobs }: { jobs: Job[] }) {
  const [pair, setPair] = useState<[string, string]>([jobs[0].id, jobs[1].id]);
  const names = jobs.map((j) => [j.id, `${title(j)} (${j.id.slice(-4)})`] as [string, string]);
  const same = pair[0] === pair[1];
  const answer = useLoad(same ? null : pair.join(), () => send<Agreement>("POST", `/v1/jobs/${pair[0]}/compare`, { with: pair[1] }));
  const a = same ? null : answer.data, of = (id: string) => channelNames(jobs.find((j) => j.id === id)?.result?.channels), [own, other] = pair.map(of);
  return (
    <Section title="Agreement of the channels" aside={<div class="tools"><Choice label="Job" value={pair[0]} options={names} onChange={(v) => setPair([v, pair[1]])} /><Choice label="Compared with" value={pair[1]} options={names} onChange={(v) => setPair([pair[0], v])} /></div>}>
      {same ? <p class="muted">Choose two different jobs.</p> : <Fault fault={answer.fault} />}
      {a && <>
        <p>On {number(a.samples)} inputs, channels matched one to one agree in <b>{percent(a.agreement)}</b> of their motifs on average; the lowest agreement is {percent(a.least_agreement)}.</p>
        <Table stack caption="Matched channels" words={2} head={["Channel", "Matched with", "Motifs", "Motifs of the other", "Common motifs", "Agreement"]} rows={a.channels.map((c) => [<ChannelMark channel={c.channel} name={own(c.channel)} />, c.other === null ? "–" : <ChannelMark channel={c.other} name={other(c.other)} />, number(c.motifs), number(c.other_motifs), number(c.together),
          <span class="measure"><span>{percent(c.agreement)}</span><progress class="bar" max={1} value={c.agreement} aria-label={`Agreement of channel ${c.channel}`} /></span>])} />
      </>}
    </Section>
  );
}

function Pick({ picked }: { picked: string[] }) {
  const list = useLoad("pick", (signal) => get<{ jobs: Job[] }>("/v1/jobs?limit=100", signal));
  const rest = list.data?.jobs.filter((j) => !picked.includes(j.id)) ?? [];
  return <Choice label="Add a job" value="" options={[["", "choose…"], ...rest.map((j) => [j.id, `${title(j)} · ${j.kind} (${j.id.slice(-4)})`] as [string, string])]} onChange={(id) => id && note({ jobs: [...picked, id].join(",") })} />;
}

function Together({ jobs }: { jobs: Job[] }) {
  const range = ((f, t) => (f && t ? [Number(f), Number(t)] as [number, number] : null))(route.value.query.get("from"), route.value.query.get("to"));
  const ids = jobs.map((j) => j.id).join();
  const series = useLoad(`${ids} ${range?.join()}`, (signal) => Promise.all(jobs.map((j) => metrics(j.id, { points: 800, since: range?.[0], until: range?.[1] }, signal))));
  const names = useMemo(() => [...new Set((series.data ?? []).flatMap((s) => Object.keys(s.series).filter((n) => s.series[n].length > 0)))], [series.data]);
  const usual = ["accuracy", "density", "loss", "fpe", "mcc", "test_loss", "recovered"].find((n) => names.includes(n)) ?? names[0];
  const metric = route.value.query.get("metric") ?? usual ?? "";
  const lines = useMemo<Line[]>(() => (series.data ?? []).map((s, i) => ({ label: `${title(jobs[i])} (${jobs[i].id.slice(-4)})`, points: (s.series[metric] ?? []) as Point[], colour: i })).filter((l) => l.points.length > 0), [series.data, metric]);
  const log = metric === "density" || metric.includes("loss") || metric === "achieved_density";
  return (
    <Section title="Curves" aside={<Choice label="Metric" value={metric} options={names.map((n) => [n, nameOf(n)] as [string, string])} onChange={(v) => note({ metric: v })} />}>
      <Fault fault={series.fault} />
      {lines.length > 0 && <Chart title={nameOf(metric)} lines={lines} xLabel="samples" log={log} unit={isShare(metric) ? percent : undefined} height={320} range={range} onRange={(r) => note({ from: r ? String(Math.round(r[0])) : null, to: r ? String(Math.round(r[1])) : null })} />}
    </Section>
  );
}

/** Table of the values that differ, with one column for each job. */
function Differences({ jobs, name, of, keep = () => true }: { jobs: Job[]; name: string; of: (job: Job) => Record<string, Json> | null; keep?: (name: string) => boolean }) {
  const keys = [...new Set(jobs.flatMap((j) => Object.keys(of(j) ?? {})))].filter((k) => keep(k) && jobs.every((j) => simple(of(j)?.[k])));
  const different = keys.filter((k) => new Set(jobs.map((j) => JSON.stringify(of(j)?.[k] ?? null))).size > 1);
  return (
    <Section title={name} aside={<span class="muted">{different.length} of {keys.length} differ</span>}>
      {different.length > 0 ? <Table stack caption={name} words={1} head={["", ...jobs.map((j) => title(j))]} rows={different.map((k) => [nameOf(k), ...jobs.map((j) => shown(k, of(j)?.[k]))])} /> : <p class="muted">All values are equal.</p>}
    </Section>
  );
}

export function ComparePage() {
  const picked = (route.value.query.get("jobs") ?? "").split(",").filter(Boolean);
  const loaded = useLoad(picked.length ? picked.join() : null, (signal) => Promise.all(picked.map((id) => get<Job>(`/v1/jobs/${id}`, signal))));
  useEffect(() => { document.title = "Compare · motifd"; }, []);
  const jobs = picked.length ? (loaded.data ?? []).filter((j) => picked.includes(j.id)) : [];
  const known = useLoad("kinds", () => kinds());
  const why = obstacle(jobs, known.data), comparable = jobs.length > 1 && known.data && !why;
  return (
    <>
      <div class="page-head"><h1>Compare</h1><Pick picked={picked} /></div>
      <Fault fault={loaded.fault} />
      {jobs.length === 0 && !picked.length && <p class="empty">Choose two or more jobs, here or in the table of jobs.</p>}
      {jobs.length > 0 && (
        <>
          <ul class="picked">{jobs.map((j, i) => (
            <li key={j.id}><i class={`swatch c${i % 8}`} aria-hidden="true" /><a href={href(`jobs/${j.id}`)}>{title(j)}</a> <span class="muted">{j.kind} <code>{j.id.slice(-6)}</code></span> <StateMark job={j} />
              <button type="button" class="small" onClick={() => note({ jobs: picked.filter((id) => id !== j.id).join(",") || null })}>Remove<span class="hidden"> {title(j)}</span></button></li>
          ))}</ul>
          <Together jobs={jobs} />
          {why && <Section title="Agreement"><p>{why}</p></Section>}
          {comparable && known.data!.find((k) => k.kind === jobs[0].kind)!.panels.some((p) => p.view === "motifs") && <Beside key={`inputs ${picked.join()}`} jobs={jobs} />}
          {comparable && <Motifs key={picked.join()} jobs={jobs} />}
          {jobs.length > 1 && <Differences jobs={jobs} name="Results" of={(j) => j.result} keep={(k) => !isResearch(k)} />}
          {jobs.length > 1 && <Differences jobs={jobs} name="Settings" of={(j) => j.config} />}
          {jobs.length > 1 && <details class="rest"><summary>Research</summary><Differences jobs={jobs} name="Figures of the papers" of={(j) => j.result} keep={isResearch} /></details>}
        </>
      )}
    </>
  );
}
