// The product of the weights as a picture, and the measured loss beside the loss of the closed form.
import { useMemo } from "preact/hooks";
import { get, type Artifact, type Job } from "../api";
import { number } from "../format";
import { Fault, Section, Table, useLoad } from "../ui/base";
import { Heat } from "../ui/canvas";
import { grid, table } from "../ui/csv";
import { Pictures } from "../ui/pictures";
import "./figures.css";

const LOSSES: [string, string][] = [["loss", "measured"], ["analytic_loss", "closed form"], ["linear_loss", "best linear"], ["bayes_bound", "Bayes bound"], ["oracle_bound", "oracle bound"]];
const LARGEST = 4_000_000; // in bytes: a larger table is not loaded to draw the picture

export function RugView({ job }: { job: Job }) {
  const files = useLoad(`${job.id} ${job.state}`, (signal) => get<{ artifacts: Artifact[] }>(`/v1/jobs/${job.id}/artifacts`, signal));
  const own = files.data?.artifacts.find((a) => (a.name === "matrix.csv" || a.name === "rug.csv") && a.bytes < LARGEST);
  const cells = useLoad(own ? own.href : null, (signal) => table(job.id, own!.name, signal));
  const matrix = useMemo(() => (cells.data ? grid(cells.data.filter((r) => r.series === "weight")) : null), [cells.data]);
  const r = job.result;
  if (!r) return <p class="empty">The weights appear when the job has finished.</p>;
  const worst = Math.max(...LOSSES.map(([name]) => (typeof r[name] === "number" ? (r[name] as number) : 0)));
  return (
    <>
      <Fault fault={files.fault ?? cells.fault} />
      <div class="two">
        {matrix && (
          <Section title={own?.name === "rug.csv" ? "Product of the weights, W" : "Product of the weights, W (first features)"}>
            <Heat label={`Weights between ${matrix.rows} features`} grid={matrix} text={`${matrix.rows} × ${matrix.cols} features; the diagonal is the signal, the rest is interference`} />
          </Section>
        )}
        <Section title="Loss per feature">
          <ul class="bars">{LOSSES.filter(([name]) => typeof r[name] === "number").map(([name, label]) => (
            <li key={name}><span>{label}</span><progress max={worst} value={r[name] as number} aria-label={label} /><b>{number(r[name], 4)}</b></li>
          ))}</ul>
          <Table caption="The weights" words={1} head={["", "Value"]} rows={[["diagonal, mean", number(r.diagonal_mean)], ["diagonal, standard deviation", number(r.diagonal_sd)], ["bias, mean", number(r.bias_mean)], ["features dropped", number(r.dropped)], ["a, scale in the closed form", number(r.a)], ["b, bias in the closed form", number(r.b)], ["σ", number(r.sigma)]]} />
        </Section>
      </div>
      <Pictures job={job} without={own?.name.replace("csv", "png")} />
    </>
  );
}
