// The factors of a model: which features each factor feeds, its topic, and its values for one row of the table.
import { useMemo, useState } from "preact/hooks";
import { send, type Job } from "../api";
import { number } from "../format";
import { note, route } from "../router";
import { DataTable, Fault, Section, Table, useLoad } from "../ui/base";
import { bounds, Heat, type Grid } from "../ui/canvas";
import { grid, table } from "../ui/csv";
import { cellStyle, theme } from "../ui/theme";
import "./figures.css";

interface Topic { factor: number; features: (string | number)[]; weights: number[]; anchors: (string | number)[] }
interface Row { factors: { factor: number; mean: number; deviation: number }[]; features: { feature: number; value: number; output: number; fed_by: number[] }[] }

const SMALL = 40; // with at most this many features, the matrix is shown as numbers, otherwise as a picture

function Loading({ matrix, name }: { matrix: Grid; name: (feature: number) => string }) {
  void theme.value;
  const cell = (r: number, c: number) => matrix.values[r * matrix.cols + c];
  const [low, high] = bounds(matrix.values), most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  if (matrix.rows > SMALL) {
    return (
      <>
        <Heat label={`Loading matrix: ${matrix.rows} features by ${matrix.cols} factors`} grid={matrix} ratio={Math.min(1.4, Math.max(0.5, matrix.rows / matrix.cols / 4))} text="features downwards, factors across" />
        <DataTable caption="Loading matrix" make={() => ({ head: ["feature", ...Array.from({ length: matrix.cols }, (_, c) => c)], rows: Array.from({ length: Math.min(200, matrix.rows) }, (_, r) => [name(r), ...Array.from({ length: matrix.cols }, (_, c) => number(cell(r, c)))]) })} />
      </>
    );
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Loading matrix">
      <table class="matrix">
        <caption>Share of each factor in the weight of a feature</caption>
        <thead><tr><td />{Array.from({ length: matrix.cols }, (_, c) => <th key={c} scope="col">factor {c}</th>)}</tr></thead>
        <tbody>{Array.from({ length: matrix.rows }, (_, r) => (
          <tr key={r}><th scope="row">{name(r)}</th>{Array.from({ length: matrix.cols }, (_, c) => {
            const v = cell(r, c), part = v / most;
            return <td key={c} style={cellStyle(part, low < 0 ? "signed" : "values")}>{v === 0 ? "·" : number(v, 2)}</td>;
          })}</tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function OneRow({ job }: { job: Job }) {
  const seed = Number(route.value.query.get("seed") ?? 3);
  const answer = useLoad(`${job.id} ${seed}`, () => send<{ answers: Row[] }>("POST", `/v1/jobs/${job.id}/predict`, { inputs: [{ sample: { seed } }] }));
  const row = answer.data?.answers[0];
  return (
    <Section title={`Row ${seed}`} aside={<div class="tools"><button type="button" class="small" onClick={() => note({ seed: String(Math.max(0, seed - 1)) })} aria-label="Previous row">←</button><button type="button" class="small" onClick={() => note({ seed: String(seed + 1) })} aria-label="Next row">→</button></div>}>
      <Fault fault={answer.fault} />
      {row && (
        <div class="two">
          <Table caption="Factors of the row" words={0} head={["Factor", "Mean", "Deviation"]} rows={row.factors.map((f) => [f.factor, number(f.mean), number(f.deviation)])} />
          <Table caption="Features of the row" words={0} head={["Feature", "Value", "Output", "Fed by"]} rows={row.features.slice(0, 60).map((f) => [f.feature, number(f.value), number(f.output), f.fed_by.join(", ") || "–"])} />
        </div>
      )}
    </Section>
  );
}

export function FactorsView({ job }: { job: Job }) {
  const mask = useLoad(job.state === "succeeded" ? job.id : null, (signal) => table(job.id, "mask.csv", signal));
  const [most, setMost] = useState(12);
  const matrix = useMemo(() => (mask.data ? grid(mask.data) : null), [mask.data]);
  const topics = (job.result?.topics ?? []) as unknown as Topic[], names = (job.result?.features ?? []) as string[];
  const name = (feature: number) => names[feature] ?? `feature ${feature}`;
  if (!job.result) return <p class="empty">The factors appear when the job has finished.</p>;
  return (
    <>
      <Section title="Features that each factor feeds">
        {matrix ? <Loading matrix={matrix} name={name} /> : mask.fault ? <p class="empty">This model has no loading matrix.</p> : <p class="empty">Loading…</p>}
      </Section>
      {topics.length > 0 && (
        <Section title="Strongest features of each factor" aside={topics.length > most ? <button type="button" class="small" onClick={() => setMost(topics.length)}>all {topics.length}</button> : undefined}>
          <div class="cards">{topics.slice(0, most).map((t) => (
            <div class="topic" key={t.factor}><h3>Factor {t.factor}</h3>
              <Table caption={`Factor ${t.factor}`} words={1} head={["Feature", "Weight"]} rows={t.features.map((f, i) => [<>{String(f)}{t.anchors.includes(f) && <span class="muted" title="This feature depends on this factor only."> anchor</span>}</>, number(t.weights[i])])} />
            </div>
          ))}</div>
        </Section>
      )}
      {job.config.data === "synthetic" && <OneRow job={job} />}
    </>
  );
}
