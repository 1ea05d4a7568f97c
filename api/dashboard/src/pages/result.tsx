// The result of a job: its figures, errors by density, the confusion matrix and its pictures.
import type { Job, Json } from "../api";
import { ERRORS, isResearch, nameOf, percent, plain, show } from "../format";
import { href } from "../router";
import { Facts, Section, Table } from "../ui/base";
import { ChannelMark, channelNames } from "../ui/channel";
import type { Line } from "../ui/chart";
import { later } from "../ui/later";
import { Pictures } from "../ui/pictures";
import { cellStyle, theme } from "../ui/theme";

/** The chart is not needed to show the rest of this view. */
const Chart = later(() => import("../ui/chart").then((m) => m.Chart));

interface Confusion { symbols: string[]; channels: (number | string)[]; counts: number[][] }
type ByDensity = { density: number; checkpoint: number } & Record<string, number>;

/** The cells lead to their inputs. */
export function ConfusionMatrix({ confusion, nameOf, jobId }: { confusion: Confusion; nameOf: (channel: number) => string; jobId: string }) {
  void theme.value; // draws again when the theme changes
  const most = Math.max(1, ...confusion.counts.flat());
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Confusion matrix">
      <table class="matrix">
        <caption>True symbols (rows) and the channels that marked them (columns). Select a number to see inputs of it.</caption>
        <thead><tr><td />{confusion.channels.map((c) => <th key={c} scope="col">{typeof c === "number" ? <ChannelMark channel={c} name={nameOf(c).replace(/^channel /, "")} /> : c}</th>)}</tr></thead>
        <tbody>{confusion.counts.map((row, r) => (
          <tr key={r}><th scope="row">{confusion.symbols[r]}</th>
            {row.map((count, c) => {
              const part = Math.sqrt(count / most);
              return <td key={c} style={cellStyle(part)}>{count > 0 ? <a href={href(`jobs/${jobId}/answer`, { marks: `${confusion.symbols[r]}>${confusion.channels[c]}` })}>{count}</a> : "·"}</td>;
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


/** Shows any list of records as a table with a column for each name; `research`: the columns with figures for research, otherwise the others. */
function Records({ name, rows, research }: { name: string; rows: Record<string, Json>[]; research: boolean }) {
  const flat = rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, v !== null && typeof v === "object" && !Array.isArray(v) && "median" in v ? v.median : v])));
  const has = (key: string) => flat.some((row) => plain(row[key] ?? null) && row[key] !== null), text = (key: string) => flat.every((row) => typeof row[key] === "string");
  const keys = [...new Set(flat.flatMap((row) => Object.keys(row)))].filter((key) => has(key) && (isResearch(key) === research || text(key)));
  const words = keys.findIndex((key) => !text(key));
  if (words < 0 && (research || Object.keys(flat[0]).some(isResearch))) return null;
  return (
    <Section title={name[0].toUpperCase() + name.slice(1).replaceAll("_", " ")}>
      <Table caption={nameOf(name)} words={words < 0 ? keys.length : words} head={keys.map(nameOf)} rows={flat.slice(0, 400).map((row) => keys.map((k) => show(k, row[k] ?? null)))} />
    </Section>
  );
}

export function ResultView({ job }: { job: Job }) {
  const r = job.result;
  if (!r) return <p class="empty">{job.state === "failed" ? "The job failed and has no result." : "The result appears when the job has finished."}</p>;
  const simple = Object.entries(r).filter(([, v]) => plain(v));
  const first = ERRORS.filter(([name]) => typeof r[name] === "number");
  const lists = Object.entries(r).filter(([name, v]) => name !== "by_density" && name !== "findings" && Array.isArray(v) && v.length > 0 && !plain(v[0])) as [string, Record<string, Json>[]][];
  const numbers = simple.filter(([name, v]) => v !== null && name !== "verdict" && !first.some(([n]) => n === name));
  const reference = r.reference as { kind: string; exact?: number; r2?: number } | undefined;
  const beside: [string, preact.ComponentChildren][] = reference ? [[`reference (${nameOf(reference.kind)})`, reference.r2 === undefined ? `exact match ${percent(reference.exact ?? null)}` : `R squared ${percent(reference.r2)}`]] : [];
  const division = r.division as { text: string } | null | undefined, evidence = r.evidence as { by?: string; groups?: number } | undefined;
  const divided: [string, preact.ComponentChildren][] = division ? [["divided", division.text]] : [];
  if (evidence?.by === "groups") divided.push(["intervals", `of ${evidence.groups} groups`]);
  const fact = ([name, v]: [string, Json]): [string, preact.ComponentChildren] => [nameOf(name), name.endsWith("sha256") ? <code title={String(v)}>{String(v).slice(0, 16)}…</code> : show(name, v)];
  return (
    <>
      {first.length > 0 && <Section title="Errors"><div class="headline"><Facts items={[...first.map(([name, label]): [string, preact.ComponentChildren] => [label, percent(r[name])]), ...beside]} /></div></Section>}
      {Array.isArray(r.by_density) && r.by_density.length > 1 && <Section title="Annealing"><ErrorsByDensity rows={r.by_density as unknown as ByDensity[]} /></Section>}
      {r.confusion && <Section title="Confusion matrix"><ConfusionMatrix confusion={r.confusion as unknown as Confusion} nameOf={channelNames(r.channels)} jobId={job.id} /></Section>}
      <Pictures job={job} />
      <Section title="Figures"><Facts items={[...divided, ...numbers.filter(([name]) => !isResearch(name)).map(fact)]} /></Section>
      {lists.map(([name, rows]) => <Records key={name} name={name} rows={rows} research={false} />)}
      <details class="rest"><summary>Research</summary>
        <Section title="Figures of the papers"><Facts items={numbers.filter(([name]) => isResearch(name)).map(fact)} /></Section>
        {lists.map(([name, rows]) => <Records key={name} name={name} rows={rows} research />)}
      </details>
    </>
  );
}
