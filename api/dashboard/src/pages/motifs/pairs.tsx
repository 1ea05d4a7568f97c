// Pairs of motifs: how often two motifs occur in one input, and how their arrangement changes the answer of the model.
import { useState } from "preact/hooks";
import { get } from "../../api";
import { number, percent } from "../../format";
import { Fault, Section, Table, useLoad } from "../../ui/base";
import { ChannelMark } from "../../ui/channel";
import { Save } from "../../ui/save";

interface Named { channel: number; name: string }
interface Share { share: number; expected: number; p: number }
interface Pair { first: Named; second: Named; records: number; expected: number; p: number; near: Share; first_before_second: Share; same_strand: Share }
interface Pairs { records: number; near_bases: number; pairs: Pair[] }
interface Effect { difference: number; low: number; high: number; p: number }
interface Rule { name: string; rule: string | null; samples: number | null; order: Effect | null; distance: Effect | null; strand: Effect | null }
interface Rules { samples: number; unit: string; tried: number; searched: number; support: number; left_out: { first: Named; second: Named }[]; pairs: { first: Named; second: Named; names: Rule[] }[] }

const mark = (n: Named) => <ChannelMark channel={n.channel} name={n.name} />;
const beside = (s: Share) => <>{percent(s.share)} <span class="muted">of {percent(s.expected)}, p {number(s.p, 1)}</span></>;
const signed = (value: number) => `${value > 0 ? "+" : ""}${number(value, 2)}`;
const effect = (e: Effect | null) => (e ? <>{signed(e.difference)} <span class="muted">({signed(e.low)} to {signed(e.high)})</span></> : "");

function PairTable({ answer }: { answer: Pairs }) {
  const pairs = [...answer.pairs].sort((a, b) => Math.min(a.p, a.near.p, a.first_before_second.p, a.same_strand.p) - Math.min(b.p, b.near.p, b.first_before_second.p, b.same_strand.p));
  if (pairs.length === 0) return <p class="empty">No two motifs occur together in at least five of {number(answer.records)} inputs.</p>;
  return (
    <Table caption="Pairs of motifs in the data" words={1} head={["Motifs", "Inputs with both", `Within ${answer.near_bases}`, "First before second", "On one strand"]}
      rows={pairs.map((p) => [<>{mark(p.first)} {mark(p.second)}</>, <>{number(p.records)} <span class="muted">of {number(p.expected)}, p {number(p.p, 1)}</span></>, beside(p.near), beside(p.first_before_second), beside(p.same_strand)])} />
  );
}

function RuleTable({ answer }: { answer: Rules }) {
  const rows = answer.pairs.flatMap((p) => p.names.map((n) => [n.name, n.rule ?? "", n.samples === null ? "" : number(n.samples), <>{mark(p.first)} {mark(p.second)}</>, effect(n.order), effect(n.distance), effect(n.strand)]));
  return (
    <>
      {rows.length === 0
        ? <p class="empty">In {number(answer.samples)} inputs, no arrangement of the {number(answer.tried)} pairs changes an answer clearly.</p>
        : <Table caption="Rules between motifs" words={3} head={["Answer", "Rule", "Samples", "Motifs", "First before second", "Near", "On one strand"]} rows={rows} />}
      <p class="muted">Samples: those of {number(answer.searched)} that contain both motifs in the order and distance of the rule. With fewer than {number(answer.support)}, there is no rule.</p>
      {answer.left_out.length > 0 && <p class="muted">Not tried, because the answer would take too long (ask with <code>motifctl rules --channel --other</code>): {answer.left_out.map((p) => <>{mark(p.first)} {mark(p.second)}; </>)}</p>}
    </>
  );
}

/** A section that sends its query only when the user opens it, because the query takes seconds. */
function OnDemand<T>({ path, title, hint, name, show }: { path: string; title: string; hint: string; name: string; show: (answer: T) => preact.ComponentChildren }) {
  const [wanted, want] = useState(false), loaded = useLoad(wanted ? path : null, (signal) => get<T>(path, signal));
  return (
    <Section title={title} aside={loaded.data ? <Save path={path} name={name} /> : <button type="button" class="small" disabled={wanted && loaded.busy} onClick={() => want(true)} aria-label={`Show ${title.toLowerCase()}`}>Show</button>}>
      <p class="muted">{hint}</p>
      <Fault fault={loaded.fault} />
      {wanted && loaded.busy && <p class="muted">Searching inputs…</p>}
      {loaded.data && show(loaded.data)}
    </Section>
  );
}

export function PairPanels({ jobId, checkpoint }: { jobId: string; checkpoint: string }) {
  const at = (query: string) => `/v1/jobs/${jobId}/${query}${query.includes("?") ? "&" : "?"}checkpoint=${encodeURIComponent(checkpoint)}`;
  return (
    <>
      <OnDemand<Pairs> path={at("pairs?set=test")} title="Pairs in the data" name="pairs.json" hint="How often two motifs occur in one input, at which distance and in which order, compared with chance." show={(answer) => <PairTable answer={answer} />} />
      <OnDemand<Rules> path={at("rules")} title="Rules of the model" name="rules.json" hint="How the answers of the model change when two motifs are placed in another order or at another distance: differences of shares, with intervals of 95 %." show={(answer) => <RuleTable answer={answer} />} />
    </>
  );
}
