// The gallery of a dictionary: for each latent how often it is active, how strongly, and its strongest samples; and one latent in detail.
import { get, type Job } from "../api";
import { number, percent } from "../format";
import { href, note, route } from "../router";
import { Bar, Choice, Facts, Fault, Section, Table, useLoad } from "../ui/base";
import { Pictures } from "../ui/pictures";
import "./motifs.css";

interface Place { value: number; row?: number; sample?: number; token?: number; id?: string; group?: string; label?: string[] }
interface Pair { latent: number; cosine?: number; share?: number; parent_share?: number }
interface Latent {
  latent: number; rate: number; norm: number; level?: number; parent?: number | null; recurs: number | null; agrees: number | null; worth: boolean;
  feature?: number; cosine?: number; strongest: Place[]; histogram: { from: number; samples: number }[];
}
interface List { width: number; samples: number; learner: string; levels: number[]; latents: Latent[] }
interface Detail extends Latent { nearest: Pair[]; together: Pair[]; children?: Pair[]; parent_share?: number }

const PAGE = 48;
const SORTS: [string, string][] = [["rate", "most active first"], ["strength", "strongest first"], ["number", "by number"]];

/** Where a sample comes from, in words. */
function place(p: Place): string {
  const at = p.row !== undefined && p.token === undefined ? `row ${p.row}` : `sample ${p.sample}${p.token === undefined ? "" : `, token ${p.token}`}`;
  return [p.id, p.group, p.label?.join(" "), at].filter(Boolean).join(" · ");
}

/** The histogram of the activations as bars. */
function Bars({ latent }: { latent: Latent }) {
  const first = latent.histogram.findIndex((b) => b.samples > 0), used = latent.histogram.filter((b, i) => i >= first && (b.samples > 0 || latent.histogram.slice(i).some((c) => c.samples > 0)));
  const most = Math.max(1, ...used.map((b) => b.samples));
  if (first < 0) return <p class="muted">never active in the test samples</p>;
  return (
    <svg viewBox={`0 0 ${used.length * 10} 40`} width="100%" height="40" preserveAspectRatio="none" role="img" aria-label={`Activations of latent ${latent.latent} from ${number(used[0].from)} on: ${used.map((b) => b.samples).join(", ")} samples`}>
      {used.map((b, i) => <rect key={b.from} x={i * 10 + 1} width={8} y={40 - 40 * b.samples / most} height={40 * b.samples / most} fill="currentColor" opacity={0.6} />)}
    </svg>
  );
}

function Card({ job, latent }: { job: Job; latent: Latent }) {
  return (
    <li class="card">
      <h2><a href={href(`jobs/${job.id}/latents`, { latent: String(latent.latent) })}>latent {latent.latent}</a></h2>
      {latent.worth ? <p class="right">● worth a look</p> : <p class="muted" title="smallest |cosine| with other seeds; agreement with pursuit">seeds {number(latent.recurs)} · pursuit {number(latent.agrees)}</p>}
      <Bars latent={latent} />
      <Bar value={latent.rate} label={`Share of the samples in which latent ${latent.latent} is active`} />
      <ol class="muted">{latent.strongest.map((p, i) => <li key={i}>{number(p.value)} {place(p)}</li>)}</ol>
      {latent.feature !== undefined && <p class="muted">true feature {latent.feature}, cosine {number(latent.cosine)}</p>}
    </li>
  );
}

function Others({ job, title, pairs, name, of }: { job: Job; title: string; pairs: Pair[]; name: string; of: (p: Pair) => number | undefined }) {
  if (pairs.length === 0) return null;
  return <Section title={title}><Table caption={title} head={["latent", name]} words={0} rows={pairs.map((p) => [<a href={href(`jobs/${job.id}/latents`, { latent: String(p.latent) })}>{p.latent}</a>, number(of(p))])} /></Section>;
}

function One({ job, query, latent }: { job: Job; query: string; latent: number }) {
  const answer = useLoad(`${job.id} ${latent} ${job.state}`, (signal) => get<Detail>(`/v1/jobs/${job.id}/${query}/${latent}`, signal)), a = answer.data;
  return (
    <>
      <p><button type="button" class="small" onClick={() => note({ latent: null })}>← all latents</button></p>
      <Fault fault={answer.fault} />
      {a && (
        <>
          <Section title={`Latent ${a.latent}`}>
            <Facts items={[["Active in", percent(a.rate)], ["Recurs in other seeds", `smallest |cosine| ${number(a.recurs)}`], ["Agrees with pursuit", number(a.agrees)], ["Worth an interpretation", a.worth ? "yes" : "no"],
              ...(a.level === undefined ? [] : [["Level", String(a.level)], ["Parent", a.parent === null || a.parent === undefined ? "none" : `latent ${a.parent}, active in ${percent(a.parent_share)} of its samples`]] as [string, string][])]} />
            <Bars latent={a} />
          </Section>
          <Section title="Strongest samples"><Table caption="Strongest samples" head={["value", "sample"]} words={1} rows={a.strongest.map((p) => [number(p.value), place(p)])} /></Section>
          <div class="cards">
            <Others job={job} title="Nearest directions" pairs={a.nearest} name="cosine" of={(p) => p.cosine} />
            <Others job={job} title="Active together" pairs={a.together} name="share" of={(p) => p.share} />
            <Others job={job} title="Children" pairs={a.children ?? []} name="share" of={(p) => p.parent_share} />
          </div>
        </>
      )}
    </>
  );
}

export function LatentsView({ job, query }: { job: Job; query: string }) {
  const asked = route.value.query.get("latent"), sort = route.value.query.get("sort") ?? "rate", first = Number(route.value.query.get("first") ?? 0);
  const list = useLoad(asked === null ? `${job.id} ${sort} ${first} ${job.state}` : null, (signal) => get<List>(`/v1/jobs/${job.id}/${query}?count=${PAGE}&first=${first}&sort=${sort}`, signal)), l = list.data;
  if (asked !== null) return <One job={job} query={query} latent={Number(asked)} />;
  return (
    <>
      <Fault fault={list.fault} />
      {l && (
        <>
          <div class="tools">
            <Choice label="Order" value={sort} options={SORTS} onChange={(value) => note({ sort: value, first: null })} />
            <span class="muted">{number(l.width)} latents, measured on {number(l.samples)} test samples</span>
          </div>
          <ul class="gallery" aria-label="Latents">{l.latents.map((latent) => <Card key={latent.latent} job={job} latent={latent} />)}</ul>
          <div class="tools">
            {first > 0 && <button type="button" onClick={() => note({ first: String(Math.max(0, first - PAGE)) })}>← previous</button>}
            {first + PAGE < l.width && <button type="button" onClick={() => note({ first: String(first + PAGE) })}>next →</button>}
          </div>
        </>
      )}
      {job.result && <Pictures job={job} />}
    </>
  );
}
