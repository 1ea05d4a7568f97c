// Recovery of the layers of a sparse code: each layer as a strip, and how often recovery succeeds.
import { useMemo } from "preact/hooks";
import { get, type Job } from "../api";
import { number, percent } from "../format";
import { note, route } from "../router";
import { DataTable, Facts, Fault, Section, useLoad } from "../ui/base";
import { Canvas } from "../ui/canvas";
import type { Line } from "../ui/chart";
import { later } from "../ui/later";
import { colour } from "../ui/theme";
import { Pictures } from "../ui/pictures";
import "./figures.css";

/** The chart is not needed to show the rest of this view. */
const Chart = later(() => import("../ui/chart").then((m) => m.Chart));

type Spike = number[]; // [position, filter, value] or [row, column, filter, value]
interface Layer {
  name: string; filters: number; filter_length: number; coherence: number; nonzeros: number; stripe: number; uniform_limit: number | null;
  probabilistic_limit: number | null; agrees: boolean; support: Spike[]; uniform: boolean;
}
interface Answer { guarantee: string; recovered: boolean; probability: number; layers: Layer[] }
interface CurvePoint { stripe: number; recovered: number; uniform_bound: number | null; probabilistic_bound: number | null; instance_bound: number | null }

function Strip({ layer, least }: { layer: Layer; least: number }) {
  const spikes = layer.support.map((s) => ({ at: s[0], filter: s[s.length - 2], value: s[s.length - 1] }));
  const length = Math.max(least, ...spikes.map((s) => s.at + 1)), most = Math.max(...spikes.map((s) => Math.abs(s.value)), 1e-9);
  const draw = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number) => {
    c.fillStyle = colour("sunken");
    c.fillRect(0, 0, w, h);
    for (const s of spikes) {
      c.globalAlpha = 0.35 + 0.65 * Math.abs(s.value) / most;
      c.fillStyle = s.value < 0 ? colour("minus") : colour("plus");
      c.fillRect((s.at / length) * w, (s.filter / layer.filters) * h, Math.max(2, w / length), Math.max(2, h / layer.filters));
    }
    c.globalAlpha = 1;
  }, [layer, least]);
  return (
    <figure class="strip">
      <figcaption><b>{layer.name}</b> <span class={layer.agrees ? "right" : "wrong"}>{layer.agrees ? "● recovered" : "✕ missed"}</span>
        <span class="muted">{number(layer.nonzeros)} {layer.nonzeros === 1 ? "non-zero" : "non-zeros"}, stripe {number(layer.stripe)}{(layer.uniform_limit ?? 0) > 0 ? ` (guaranteed below ${number(layer.uniform_limit)})` : ""}, coherence {number(layer.coherence)}</span></figcaption>
      <Canvas label={`${layer.name}: ${layer.support.length} non-zeros of ${layer.filters} filters`} ratio={0.09} draw={draw} />
      <DataTable caption={`Support of ${layer.name}`} make={() => ({ head: ["position", "filter", "value"], rows: spikes.slice(0, 500).map((s) => [s.at, s.filter, number(s.value)]) })} />
    </figure>
  );
}

function Recovery({ curve, title }: { curve: CurvePoint[]; title: string }) {
  const line = (label: string, key: keyof CurvePoint, i: number, dash: boolean): Line => ({ label, colour: i, dash, dots: !dash, points: curve.map((p) => [p.stripe, p[key]] as [number, number | null]).filter((p) => p[1] !== null).sort((a, b) => a[0] - b[0]) });
  const lines = [line("recovered", "recovered", 0, false), line("uniform bound", "uniform_bound", 1, true), line("probabilistic bound", "probabilistic_bound", 2, true), line("instance bound", "instance_bound", 3, true)].filter((l) => l.points.length > 0);
  return <Chart title={title} lines={lines} xLabel="stripe" logX unit={(v) => percent(v)} height={240} />;
}

export function LayersView({ job, query }: { job: Job; query: string }) {
  const seed = Number(route.value.query.get("seed") ?? 0);
  const answer = useLoad(`${job.id} ${seed} ${job.state}`, (signal) => get<{ answers: Answer[] }>(`/v1/jobs/${job.id}/${query}?seed=${seed}`, signal));
  const a = answer.data?.answers[0], cases = (job.result?.cases ?? []) as unknown as { label: string; curve: CurvePoint[] }[];
  return (
    <>
      <Fault fault={answer.fault} />
      {a && (
        <Section title={`Code ${seed}`} aside={<div class="tools"><button type="button" class="small" onClick={() => note({ seed: String(Math.max(0, seed - 1)) })} aria-label="Previous code">←</button><button type="button" class="small" onClick={() => note({ seed: String(seed + 1) })} aria-label="Next code">→</button></div>}>
          <Facts items={[["All layers", <b class={a.recovered ? "right" : "wrong"}>{a.recovered ? "recovered" : "missed"}</b>], ["Guarantee", a.guarantee], ["Probability, at least", percent(a.probability)]]} />
          {a.layers.map((layer) => <Strip key={layer.name} layer={layer} least={Number(job.config.length) || 1} />)}
        </Section>
      )}
      {cases.length > 0 && <Section title="Recovery rate against the stripe sparsity"><div class="charts">{cases.slice(0, 12).map((c, i) => <Recovery key={i} curve={c.curve} title={c.label} />)}</div></Section>}
      {job.result && <Pictures job={job} />}
    </>
  );
}
