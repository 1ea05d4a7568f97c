// The page of one job: its progress, its curves, its result, and the views that the table of its kind names.
import { useEffect, useRef, useState } from "preact/hooks";
import { applies, get, kinds, request, seen, send, type Artifact, type Checkpoint, type Job, type Kind, type Progress, type State } from "../api";
import { bytes, DASH, duration, moment, number, percent, title } from "../format";
import { follow, type LiveEvent } from "../live";
import { go, href, route } from "../router";
import { Bar, Facts, Fault, progressText, Section, StateMark, Table, useLoad } from "../ui/base";
import { Curves, drawsAtOnce } from "./curves";
import { FactorsView } from "./factors";
import { MotifsView } from "./motifs";
import { PathwaysView } from "./pathways";
import { ResultView } from "./result";
import { RugView } from "./superposition";
import { TreeView } from "./environments";

type ViewProps = { job: Job };
/** Views by the names that the methods' tables use (`panels` of /v1/kinds/{kind}). */
const VIEWS: Record<string, (props: ViewProps) => preact.JSX.Element> = { motifs: MotifsView, rug: RugView, pathways: PathwaysView, factors: FactorsView, tree: TreeView };

function Actions({ job, changed, fail }: { job: Job; changed: (job: Job) => void; fail: (fault: unknown) => void }) {
  const [sure, setSure] = useState(false);
  const act = (verb: string) => send<Job>("POST", `/v1/jobs/${job.id}/${verb}`).then(changed, fail);
  const finished = ["succeeded", "failed", "cancelled"].includes(job.state);
  const remove = () => send("DELETE", `/v1/jobs/${job.id}`).then(() => go(""), fail);
  const evaluate = () => send<Job>("POST", `/v1/jobs/${job.id}/evaluation`, {}).then((made) => go(`jobs/${made.id}`), fail);
  return (
    <div class="tools">
      {["pause", "resume", "cancel"].map((verb) => job.links[verb] && <button key={verb} type="button" onClick={() => void act(verb)}>{verb[0].toUpperCase() + verb.slice(1)}</button>)}
      {finished && job.task === "train" && job.state === "succeeded" && <button type="button" onClick={() => void evaluate()}>Evaluate</button>}
      <a class="button" href={href("new", { like: job.id })}>Copy to a new job</a>
      {finished && !sure && <button type="button" onClick={() => setSure(true)}>Delete</button>}
      {sure && <><button type="button" class="danger" onClick={() => void remove()}>Delete permanently</button><button type="button" onClick={() => setSure(false)}>Keep</button></>}
    </div>
  );
}

function Name({ job, changed, fail }: { job: Job; changed: (job: Job) => void; fail: (fault: unknown) => void }) {
  const [text, setText] = useState<string | null>(null);
  const save = (e: Event) => {
    e.preventDefault();
    send<Job>("PATCH", `/v1/jobs/${job.id}`, { name: text?.trim() || null }).then((now) => { setText(null); changed(now); }, fail);
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
  const p = job.progress, items: [string, preact.ComponentChildren][] = [
    ["State", <StateMark job={job} />],
    ["Progress", progressText(job)],
    ["Stage", p.stage ?? DASH],
    ["Samples", number(p.samples)],
    ["Samples/s", number(p.samples_per_second)],
  ];
  if (p.density !== null) items.push(["Density", <>{number(p.density)}{typeof job.config.density_final === "number" && <span class="muted"> / {number(job.config.density_final)}</span>}</>]);
  if (p.accuracy !== null) items.push(["Accuracy", <>{percent(p.accuracy)}{p.target_accuracy !== null && <span class="muted"> / {percent(p.target_accuracy)}</span>}</>]);
  if (job.started_at && job.finished_at) items.push(["Duration", duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)]);
  return <div class="now"><Facts items={items} /><Bar value={p.fraction} label="Progress" /></div>;
}

function Files({ job }: { job: Job }) {
  const files = useLoad(`${job.id} ${job.state}`, async (signal) => ({
    checkpoints: (await get<{ checkpoints: Checkpoint[] }>(`/v1/jobs/${job.id}/checkpoints`, signal)).checkpoints,
    artifacts: (await get<{ artifacts: Artifact[] }>(`/v1/jobs/${job.id}/artifacts`, signal)).artifacts,
  }));
  return (
    <>
      <Fault fault={files.fault} />
      <Section title="Checkpoints">
        <Table caption="Checkpoints" words={1} head={["No.", "Samples", "Density", "Accuracy", "Size", "Created", ""]}
          rows={(files.data?.checkpoints ?? []).map((c) => [`${c.seq}${c.stage_end ? " · stage end" : ""}${c.pinned ? " · pinned" : ""}`, number(c.samples), number(c.density), percent(c.accuracy), bytes(c.bytes), moment(c.created_at),
            <Save path={c.href} name={`${job.id}-${c.seq}.safetensors`} />])} />
      </Section>
      <Section title="Files">
        <Table caption="Files of the job" words={2} head={["Name", "Type", "Size", ""]}
          rows={(files.data?.artifacts ?? []).map((a) => [a.name, a.media_type, bytes(a.bytes), <Save path={a.href} name={a.name} />])} />
      </Section>
      <Section title="Export">
        <p class="tools"><Save path={`/v1/jobs/${job.id}/bundle`} name={`${job.id}.motif`} text="Bundle (for import by another daemon)" /><Save path={`/v1/jobs/${job.id}/attestation`} name={`${job.id}-attestation.json`} text="Attestation" /></p>
      </Section>
    </>
  );
}

/** A download button. It uses fetch, because a link cannot send the token. */
function Save({ path, name, text = "Save" }: { path: string; name: string; text?: string }) {
  const [fault, setFault] = useState<unknown>(null);
  const save = async () => {
    try {
      const url = URL.createObjectURL(await (await request(path)).blob());
      const link = Object.assign(document.createElement("a"), { href: url, download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (e) {
      setFault(e);
    }
  };
  return <><button type="button" class="small" onClick={() => void save()} aria-label={text === "Save" ? `Save ${name}` : undefined}>{text}</button>{fault ? <Fault fault={fault} /> : null}</>;
}

/** The fields that apply to the job's other values: changed fields first, then basic ones. */
function Configuration({ job, kind }: { job: Job; kind: Kind | undefined }) {
  const preset = kind?.presets.find((p) => p.name === job.preset);
  const base = (name: string) => kind?.fields.find((f) => f.name === name)?.default;
  const basic = (name: string) => kind?.fields.find((f) => f.name === name)?.level === "basic";
  const used = Object.entries(job.config).filter(([name]) => { const field = kind?.fields.find((f) => f.name === name); return !field || applies(field, (n) => job.config[n]); });
  const rows = [...used.filter(([n]) => basic(n)), ...used.filter(([n]) => !basic(n))].map(([name, value]) => {
    const field = kind?.fields.find((f) => f.name === name), before = preset?.config[name] ?? base(name);
    const changed = before !== undefined && before !== value;
    return { changed, cells: [changed ? <strong>{name}</strong> : name, field?.meaning ?? "", String(value) + (field?.unit ? ` ${field.unit}` : "") + (changed ? ` (was ${before})` : "")] };
  });
  return (
    <Section title="Configuration" aside={<span class="muted">{rows.filter((r) => r.changed).length} of {rows.length} differ from {job.preset ? `the preset ${job.preset}` : "the defaults"}</span>}>
      <Table caption="Configuration" words={2} head={["Field", "Meaning", "Value"]} rows={[...rows.filter((r) => r.changed), ...rows.filter((r) => !r.changed)].map((r) => r.cells)} />
    </Section>
  );
}

/** Loads a job and updates it from its events. Calls heard.current with each metric event, and with null after a reconnect. */
function useJob(id: string) {
  const loaded = useLoad(id, (signal) => get<Job>(`/v1/jobs/${id}`, signal));
  const [patch, setPatch] = useState<Partial<Job> | null>(null);
  const heard = useRef<((event: LiveEvent | null) => void) | null>(null);
  const latest = useRef<Partial<Job>>({}), timer = useRef(0), reload = useRef(loaded.reload);
  reload.current = loaded.reload;
  useEffect(() => {
    const settle = () => { timer.current = 0; setPatch({ ...latest.current }); };
    const stop = follow(`/v1/jobs/${id}/events?after=now`, {
      open: () => { reload.current(); heard.current?.(null); },
      event: (event) => {
        if (event.type === "state") {
          latest.current = { ...latest.current, state: event.data.state as State, requested_state: null };
          reload.current(); // the links and the result change with the state
        } else if (event.type === "progress") latest.current = { ...latest.current, progress: event.data.progress as Progress };
        else heard.current?.(event);
        timer.current ||= window.setTimeout(settle, 200);
      },
    });
    return () => { stop(); clearTimeout(timer.current); };
  }, [id]);
  useEffect(() => { latest.current = {}; setPatch(null); }, [loaded.data]);
  const base = loaded.data ?? seen.get(id), job = base ? { ...base, ...patch } : null;
  return { job, fault: loaded.fault, heard, set: loaded.reload };
}

export function JobPage({ id }: { id: string }) {
  const { job, fault, heard, set } = useJob(id);
  const [calm, setCalm] = useState(false); // the document of all kinds is loaded after the first curves
  useEffect(() => {
    const wait = setTimeout(() => setCalm(true), 100);
    return () => clearTimeout(wait);
  }, []);
  const [failed, setFailed] = useState<unknown>(null);
  const tab = route.value.path[2] ?? "";
  const known = useLoad(calm || tab !== "" || (job && !drawsAtOnce(job)) ? "kinds" : null, () => kinds());
  useEffect(() => { document.title = job ? `${title(job)} · motifd` : "motifd"; }, [job && title(job)]);
  if (!job) return fault ? <Fault fault={fault} /> : <p class="empty">Loading…</p>;
  const kind = known.data?.find((k) => k.kind === job.kind);
  const panels = job.task === "train" ? (kind?.panels ?? []).filter((p) => p.view in VIEWS) : [], View = panels.some((p) => p.view === tab) ? VIEWS[tab] : undefined;
  const tabs: [string, string][] = [["", "Training"], ...panels.map((p): [string, string] => [p.view, p.title]), ["result", "Result"], ["config", "Configuration"], ["files", "Files"]];
  const changed = () => { setFailed(null); set(); };
  return (
    <>
      <div class="page-head">
        <div><p class="crumbs"><a href="#/">Jobs</a> / {job.kind}{job.preset ? ` / ${job.preset}` : ""}{job.from && <> / from <a href={href(`jobs/${job.from.job}`)}>{job.from.job.slice(-6)}</a></>} <code>{job.id}</code></p>
          <Name job={job} changed={changed} fail={setFailed} /></div>
        <Actions job={job} changed={changed} fail={setFailed} />
      </div>
      <Fault fault={failed} />
      {job.error && <div class="fault" role="alert"><strong>The job failed.</strong> {String(job.error.detail ?? job.error.title ?? JSON.stringify(job.error))}</div>}
      <Now job={job} />
      <nav class="tabs" aria-label="Parts of the job">
        {tabs.map(([path, text]) => <a key={path} href={href(`jobs/${id}${path ? `/${path}` : ""}`)} aria-current={tab === path ? "page" : undefined}>{text}</a>)}
      </nav>
      {tab === "" && <Curves job={job} kind={kind} heard={heard} />}
      {View && <View job={job} />}
      {tab === "result" && <ResultView job={job} />}
      {tab === "config" && <Configuration job={job} kind={kind} />}
      {tab === "files" && <Files job={job} />}
    </>
  );
}
