// The page of one job: its progress, its curves, its result, and the views that the table of its kind names.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, kinds, seen, send, type Job, type Kind, type Progress, type State } from "../api";
import { drawsAtOnce } from "../first";
import { DASH, duration, number, percent, title } from "../format";
import { follow, type LiveEvent } from "../live";
import { go, href, route } from "../router";
import { Bar, Facts, Fault, progressText, StateMark, useLoad } from "../ui/base";
import { later } from "../ui/later";
import { Verdict } from "./verdict";

export interface ViewProps {
  job: Job; kind: Kind | undefined;
  query: string; // the query that the method's table names for the view; "" if none
  onEvent: { current: ((event: LiveEvent | null) => void) | null }; // receives each metric event, and null after a reconnect
}
/** Views of a job by the names that the methods' tables use (`panels` of /v1/kinds/{kind}). */
const VIEWS: Record<string, (props: ViewProps) => preact.JSX.Element> = {
  motifs: later(() => import("./motifs").then((m) => m.MotifsView)),
  rug: later(() => import("./rug").then((m) => m.RugView)),
  layers: later(() => import("./layers").then((m) => m.LayersView)),
  latents: later(() => import("./latents").then((m) => m.LatentsView)),
  factors: later(() => import("./factors").then((m) => m.FactorsView)),
  tree: later(() => import("./tree").then((m) => m.TreeView)),
};
/** Views that every job has. */
const COMMON: Record<string, (props: ViewProps) => preact.JSX.Element> = {
  training: later(() => import("./curves").then((m) => m.Curves)),
  result: later(() => import("./result").then((m) => m.ResultView)),
  configuration: later(() => import("./config").then((m) => m.Configuration)),
  files: later(() => import("./files").then((m) => m.Files)),
};
const Kept = later(() => import("./kept").then((m) => m.Kept));
const AnswerView = later(() => import("./answer").then((m) => m.AnswerView)), ReviewView = later(() => import("./review").then((m) => m.ReviewView));

/** The part that a job opens on: its answer when it has one, else its curves. */
const firstPart = (job: Job, panels: Kind["panels"]): string =>
  job.state !== "succeeded" ? "training" : !panels.length ? "result" : panels[0].view === "motifs" ? "answer" : panels[0].view;

/** What the user must confirm, because it cannot be undone: the question and the label of the button. */
const ASK: Record<string, [string, string]> = { cancel: ["Cancel the job? A cancelled job cannot be resumed.", "Cancel the job"], delete: ["Delete the job with its checkpoints and files?", "Delete permanently"] };

function Actions({ job, changed, fail }: { job: Job; changed: () => void; fail: (fault: unknown) => void }) {
  const [asked, setAsked] = useState<string | null>(null);
  const act = (verb: string) => { setAsked(null); void send<Job>("POST", `/v1/jobs/${job.id}/${verb}`).then(changed, fail); };
  const finished = ["succeeded", "failed", "cancelled"].includes(job.state);
  const remove = () => send("DELETE", `/v1/jobs/${job.id}`).then(() => go(""), fail);
  const evaluate = () => send<Job>("POST", `/v1/jobs/${job.id}/evaluation`, {}).then((made) => go(`jobs/${made.id}`), fail);
  if (asked !== null && (asked === "cancel" ? job.links.cancel : finished)) return (
    <div class="tools" role="group" aria-label="Confirm"><span class="ask">{ASK[asked][0]}</span>
      <button type="button" class="danger" onClick={() => (asked === "delete" ? void remove() : act(asked))}>{ASK[asked][1]}</button><button type="button" onClick={() => setAsked(null)}>Keep the job</button></div>
  );
  return (
    <div class="tools">
      {["pause", "resume"].map((verb) => job.links[verb] && <button key={verb} type="button" onClick={() => act(verb)}>{verb[0].toUpperCase() + verb.slice(1)}</button>)}
      {job.links.cancel && <button type="button" onClick={() => setAsked("cancel")}>Cancel</button>}
      {finished && job.task === "train" && job.state === "succeeded" && <button type="button" onClick={() => void evaluate()}>Evaluate</button>}
      <a class="button" href={href("new", { like: job.id })}>Copy to a new job</a>
      {finished && <button type="button" onClick={() => setAsked("delete")}>Delete</button>}
    </div>
  );
}

function Name({ job, changed, fail }: { job: Job; changed: () => void; fail: (fault: unknown) => void }) {
  const [text, setText] = useState<string | null>(null);
  const save = (e: Event) => {
    e.preventDefault();
    send<Job>("PATCH", `/v1/jobs/${job.id}`, { name: text?.trim() || null }).then(() => { setText(null); changed(); }, fail);
  };
  if (text === null) return <h1>{title(job)} <button type="button" class="plain" aria-label="Rename" title="Rename" onClick={() => setText(job.name ?? "")}>✎</button></h1>;
  return (
    <form class="rename" onSubmit={save}>
      <input aria-label="Name" value={text} autoFocus maxLength={127} onInput={(e) => setText((e.currentTarget as HTMLInputElement).value)} />
      <button class="primary">Save</button><button type="button" onClick={() => setText(null)}>Cancel</button>
    </form>
  );
}

function Now({ job }: { job: Job }) {
  const p = job.progress, whole = job.state === "succeeded", items: [string, preact.ComponentChildren][] = [["State", <StateMark job={job} />]];
  if (!whole) items.push(["Progress", progressText(job)], ["Stage", p.stage ?? DASH]);
  items.push(["Samples", number(p.samples)], ["Samples/s", number(p.samples_per_second)]);
  if (p.density !== null) items.push(["Density", <>{number(p.density)}{typeof job.config.density_final === "number" && <span class="muted"> / {number(job.config.density_final)}</span>}</>]);
  if (p.accuracy !== null) items.push(["Accuracy", <>{percent(p.accuracy)}{p.target_accuracy !== null && <span class="muted"> / {percent(p.target_accuracy)}</span>}</>]);
  if (job.started_at && job.finished_at) items.push(["Duration", duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)]);
  return <div class="now"><Facts items={items} />{!whole && <Bar value={p.fraction} label="Progress" />}</div>;
}

/** Loads a job and updates it from its events. Calls onEvent.current with each metric event, and with null after a reconnect. */
function useJob(id: string) {
  const loaded = useLoad(id, (signal) => get<Job>(`/v1/jobs/${id}`, signal));
  const [patch, setPatch] = useState<Partial<Job> | null>(null);
  const onEvent = useRef<((event: LiveEvent | null) => void) | null>(null);
  const latest = useRef<Partial<Job>>({}), timer = useRef(0), reload = useRef(loaded.reload);
  reload.current = loaded.reload;
  useEffect(() => {
    const settle = () => { timer.current = 0; setPatch({ ...latest.current }); };
    const stop = follow(`/v1/jobs/${id}/events?after=now`, {
      open: () => { reload.current(); onEvent.current?.(null); },
      event: (event) => {
        if (event.type === "state") {
          latest.current = { ...latest.current, state: event.data.state as State, requested_state: null };
          reload.current(); // the links and the result change with the state
        } else if (event.type === "progress") latest.current = { ...latest.current, progress: event.data.progress as Progress };
        else onEvent.current?.(event);
        timer.current ||= window.setTimeout(settle, 200);
      },
    });
    return () => { stop(); clearTimeout(timer.current); };
  }, [id]);
  useEffect(() => { latest.current = {}; setPatch(null); }, [loaded.data]);
  const base = loaded.data ?? seen.get(id), job = base ? { ...base, ...patch } : null;
  return { job, fault: loaded.fault, onEvent, set: loaded.reload };
}

export function JobPage({ id }: { id: string }) {
  const { job, fault, onEvent, set } = useJob(id);
  const [calm, setCalm] = useState(false); // true after 100 ms: the document of all kinds must not delay the first curves
  useEffect(() => {
    const wait = setTimeout(() => setCalm(true), 100);
    return () => clearTimeout(wait);
  }, []);
  const [failed, setFailed] = useState<unknown>(null);
  const asked = route.value.path[2] === "config" ? "configuration" : route.value.path[2] ?? "", begun = useRef("");
  const known = useLoad(calm || !/^(training)?$/.test(asked) || (job && (job.state === "succeeded" || !drawsAtOnce(job))) ? "kinds" : null, () => kinds());
  useEffect(() => { document.title = job ? `${title(job)} · motifd` : "motifd"; }, [job && title(job)]);
  if (!job) return fault ? <Fault fault={fault} /> : <p class="empty">Loading…</p>;
  const kind = known.data?.find((k) => k.kind === job.kind);
  const panels = job.task === "train" ? (kind?.panels ?? []).filter((p) => p.view in VIEWS) : [];
  const finished = job.state === "succeeded";
  if (!begun.current && (known.data || !finished)) begun.current = firstPart(job, panels); // a job that ends while the user looks at its curves keeps showing them
  const tab = asked || begun.current, answers = finished && panels.some((p) => p.view === "motifs"), judged = answers && kind!.queries.some((query) => query.name === "marks");
  const panel = panels.find((p) => p.view === tab), View = tab === "answer" && answers ? AnswerView : tab === "review" && judged ? ReviewView : panel ? VIEWS[panel.view] : Object.hasOwn(COMMON, tab) ? COMMON[tab] : undefined;
  const tabs: [string, string][] = [...(answers ? [["answer", "Answer"] as [string, string]] : []), ["training", "Training"], ...(judged ? [["review", "Review"] as [string, string]] : []), ...panels.map((p): [string, string] => [p.view, p.title]), ["result", "Result"], ["configuration", "Configuration"], ["files", "Files"]];
  const changed = () => { setFailed(null); set(); };
  return (
    <>
      <div class="page-head">
        <div><p class="crumbs"><a href="#/">Jobs</a> / {job.study && <><a href={href(`studies/${job.study}`)}>study</a> / </>}{job.kind}{job.preset ? ` / ${job.preset}` : ""}{job.from && <> / from <a href={href(`jobs/${job.from.job}`)}>{job.from.job.slice(-6)}</a></>} <code>{job.id}</code></p>
          <Name job={job} changed={changed} fail={setFailed} /></div>
        <Actions job={job} changed={changed} fail={setFailed} />
      </div>
      <Fault fault={failed} />
      {job.error && <div class="fault" role="alert"><strong>The job failed.</strong> {String(job.error.detail ?? job.error.title ?? JSON.stringify(job.error))}</div>}
      <Verdict job={job} open={tab === "training" || (tab === "answer" && job.result?.verdict === "not-learned")} />
      {(job.warnings ?? []).length > 0 && <ul class="warnings" aria-label="Settings without effect">{job.warnings!.map((w) => <li key={w.pointer}><code>{w.pointer?.split("/").pop()}</code> {w.detail}</li>)}</ul>}
      <Now job={job} />
      {(job.pinned || job.expires_at) && <Kept job={job} changed={changed} fail={setFailed} />}
      <nav class="tabs" aria-label="Parts of the job">
        {tabs.map(([path, text]) => <a key={path} href={href(`jobs/${id}/${path}`)} aria-current={tab === path ? "page" : undefined}>{text}</a>)}
      </nav>
      {(!View || route.value.path[3]) && (known.data || known.fault) && <p class="empty" role="status">This job has no page “{route.value.path.slice(2).join("/") || tab}”. Choose one of the tabs.</p>}
      {View && !route.value.path[3] && <View key={tab} job={job} kind={kind} query={panel?.query ?? ""} onEvent={onEvent} />}
    </>
  );
}
