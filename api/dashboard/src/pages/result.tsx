// The result of a job: its figures, errors by density, the confusion matrix and its pictures.
import { useEffect, useState } from "preact/hooks";
import { get, request, type Artifact, type Job, type Json } from "../api";
import { ERRORS, nameOf, number, percent } from "../format";
import { Facts, Section, Table, useLoad } from "../ui/base";
import { Chart, type Line } from "../ui/chart";
import { cellStyle, theme } from "../ui/theme";

const SHARES = new Set([...ERRORS.map(([name]) => name), "ce_majority", "ce_assignment", "e_m", "single_error", "perturbed", "accuracy", "dropped"]);

interface Confusion { symbols: string[]; channels: (number | string)[]; counts: number[][] }
type ByDensity = { density: number; checkpoint: number } & Record<string, number>;

export function ConfusionMatrix({ confusion }: { confusion: Confusion }) {
  void theme.value; // draws again when the theme changes
  const most = Math.max(1, ...confusion.counts.flat());
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Confusion matrix">
      <table class="matrix">
        <caption>True symbols (rows) and the channels that marked them (columns)</caption>
        <thead><tr><td />{confusion.channels.map((c) => <th key={c} scope="col">{c}</th>)}</tr></thead>
        <tbody>{confusion.counts.map((row, r) => (
          <tr key={r}><th scope="row">{confusion.symbols[r]}</th>
            {row.map((count, c) => {
              const part = Math.sqrt(count / most);
              return <td key={c} style={cellStyle(part)}>{count || "·"}</td>;
            })}</tr>
        ))}</tbody>
      </table>
    </div>
  );
}

export function ErrorsByDensity({ rows }: { rows: ByDensity[] }) {
  const lines: Line[] = ERRORS.slice(0, 4).map(([name, label], i) => ({
    label, colour: i, dots: true, points: rows.map((r) => [r.density, r[name]] as [number, number]).sort((a, b) => a[0] - b[0]),
  }));
  return <Chart title="Errors by density" lines={lines} xLabel="density" logX reverse unit={(v) => percent(v)} height={240} />;
}

const plain = (value: Json): boolean => value === null || typeof value !== "object";
export const show = (name: string, value: Json): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "number" ? (SHARES.has(name) ? percent(value) : number(value, 4)) : value === null ? "–" : String(value);

/** Shows any list of records as a table with a column for each name. */
function Records({ name, rows }: { name: string; rows: Record<string, Json>[] }) {
  const flat = rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, v !== null && typeof v === "object" && !Array.isArray(v) && "median" in v ? v.median : v])));
  const keys = [...new Set(flat.flatMap((row) => Object.keys(row)))].filter((key) => flat.some((row) => plain(row[key] ?? null) && row[key] !== null));
  const words = keys.findIndex((key) => typeof flat[0][key] !== "string");
  return (
    <Section title={name[0].toUpperCase() + name.slice(1).replaceAll("_", " ")}>
      <Table caption={nameOf(name)} words={words < 0 ? keys.length : words} head={keys.map(nameOf)} rows={flat.slice(0, 400).map((row) => keys.map((k) => show(k, row[k] ?? null)))} />
    </Section>
  );
}

/** A picture from the daemon. It uses fetch, because an img element cannot send the token. */
export function Picture({ path, label }: { path: string; label: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    let made = "", gone = false;
    request(path).then((r) => r.blob()).then((blob) => { made = URL.createObjectURL(blob); if (gone) URL.revokeObjectURL(made); else setUrl(made); }, () => undefined);
    return () => { gone = true; if (made) URL.revokeObjectURL(made); };
  }, [path]);
  return url ? <img class="made" src={url} alt={label} loading="lazy" /> : <p class="empty">Loading…</p>;
}

export function Pictures({ job, without = "confusion.png" }: { job: Job; without?: string }) {
  const files = useLoad(`${job.id} ${job.state}`, (signal) => get<{ artifacts: Artifact[] }>(`/v1/jobs/${job.id}/artifacts`, signal));
  const pictures = files.data?.artifacts.filter((a) => a.media_type.startsWith("image/") && a.name !== without) ?? [];
  if (!pictures.length) return null;
  return <div class="pictures">{pictures.map((a) => <Section key={a.name} title={a.name}><Picture path={a.href} label={`${a.name} of ${job.kind}`} /></Section>)}</div>;
}

export function ResultView({ job }: { job: Job }) {
  const r = job.result;
  if (!r) return <p class="empty">{job.state === "failed" ? "The job failed and has no result." : "The result appears when the job has finished."}</p>;
  const simple = Object.entries(r).filter(([, v]) => plain(v));
  const first = ERRORS.filter(([name]) => typeof r[name] === "number");
  const lists = Object.entries(r).filter(([name, v]) => name !== "by_density" && Array.isArray(v) && v.length > 0 && !plain(v[0])) as [string, Record<string, Json>[]][];
  return (
    <>
      {first.length > 0 && <Section title="Errors"><div class="headline"><Facts items={first.map(([name, label]) => [label, percent(r[name])])} /></div></Section>}
      {Array.isArray(r.by_density) && r.by_density.length > 1 && <Section title="Annealing"><ErrorsByDensity rows={r.by_density as unknown as ByDensity[]} /></Section>}
      {r.confusion && <Section title="Confusion matrix"><ConfusionMatrix confusion={r.confusion as unknown as Confusion} /></Section>}
      <Section title="Numbers"><Facts items={simple.filter(([name]) => !first.some(([n]) => n === name)).map(([name, v]) => [nameOf(name), name.endsWith("sha256") ? <code title={String(v)}>{String(v).slice(0, 16)}…</code> : show(name, v)])} /></Section>
      {lists.map(([name, rows]) => <Records key={name} name={name} rows={rows} />)}
      <Pictures job={job} />
    </>
  );
}
