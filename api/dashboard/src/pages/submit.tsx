// The form that submits a job, made from the tables of /v1/kinds: what to train on, a name and an estimate; all settings are folded, by group.
// After each change the page sends a dry run, and shows every error of the daemon's answer beside the field that its pointer names.
import { useEffect, useRef, useState } from "preact/hooks";
import { applies, get, idempotencyKey, kinds, Problem, send, type Fault as FieldFault, type Field, type Job, type Json, type Kind, type Preset } from "../api";
import { bytes, duration, number } from "../format";
import { go, note, route } from "../router";
import { Choice, Facts, Fault, Section, useLoad } from "../ui/base";
import "./submit.css";

/** The cost of a job, or of all jobs of a study together. */
interface Estimate { count?: number; parameters: number; samples: number; flops: number; bytes: number; checkpoint_bytes: number; predicted_seconds: number; prediction?: { basis: string } }
type Texts = Record<string, string>;

/** The JSON value of a text in the form. A text that is no number stays text, so that the daemon reports the error. */
function value(field: Field, text: string): Json {
  if (field.type === "boolean") return text === "true";
  if (field.type === "integer" || field.type === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  return text;
}

function Input({ field, text, set, fault, usual }: { field: Field; text: string | undefined; set: (text: string | null) => void; fault?: string; usual: Json }) {
  const id = `f-${field.name}`, shown = text ?? String(usual ?? "");
  const common = { id, "aria-invalid": fault ? true : undefined, "aria-describedby": `${id}-m${fault ? ` ${id}-e` : ""}` } as const;
  const change = (e: Event) => { const now = (e.currentTarget as HTMLInputElement).value; set(now === String(usual ?? "") ? null : now); };
  const options = field.type === "boolean" ? ["true", "false"] : field.choices;
  return (
    <div class={`field ${text !== undefined ? "changed" : ""}`}>
      <label for={id}>{field.name}{field.unit && <span class="muted"> {field.unit}</span>}</label>
      {options ? <select {...common} value={shown} onChange={change}>{options.map((o) => <option key={o} value={o}>{o}</option>)}</select>
        : <input {...common} value={shown} inputMode={field.type === "text" ? "text" : "decimal"} autocomplete="off" spellcheck={false} onInput={change} />}
      {fault && <p class="wrong" id={`${id}-e`} role="alert">{fault}</p>}
      <p class="meaning" id={`${id}-m`}>{field.meaning}<span class="allowed"> {field.allowed}</span></p>
    </div>
  );
}

/** The fields of a group, folded until the user opens them, searches, or one of them is wrong. */
function Folded({ title, fields, changed, wrong, search, children }: { title: string; fields: number; changed: number; wrong: boolean; search: boolean; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(false);
  useEffect(() => { if (wrong || search) setOpen(true); }, [wrong, search]);
  if (!fields) return null;
  return (
    <details class="rest" open={open} onToggle={(e) => setOpen((e.currentTarget as HTMLDetailsElement).open)}>
      <summary>{title} <span class="muted">{fields} {fields === 1 ? "field" : "fields"}{changed > 0 && `, ${changed} changed`}</span></summary>
      {open && children}
    </details>
  );
}

const upper = (text: string) => text[0].toUpperCase() + text.slice(1);
const groupsOf = (fields: Field[]) => [...new Set(fields.map((f) => f.group))];

/** The preset and the field with which a kind trains on a data set of the user. */
const DATA_PRESET = "dataset", DATA_FIELD = "dataset_name";
const takesData = (kind: Kind) => kind.presets.some((p) => p.name === DATA_PRESET) && kind.fields.some((f) => f.name === DATA_FIELD);
/** Fields that stand open: how much work the daemon puts into the training. */
const OPEN = ["effort"];

const faultOf = (faults: FieldFault[], pointer: string) => faults.find((f) => f.pointer === pointer)?.detail;

function EstimateBox({ estimate }: { estimate: Estimate }) {
  return (
    <Facts items={[...(estimate.count ? [["Jobs", number(estimate.count)] as [string, string]] : []), ["Predicted time", duration(estimate.predicted_seconds)], ["Parameters", number(estimate.parameters)], ["Samples", number(estimate.samples)],
      ["Operations", `${number(estimate.flops)} FLOP`], ["Memory", bytes(estimate.bytes)], ["Size of a checkpoint", bytes(estimate.checkpoint_bytes)]]} />
  );
}

/** Sends a dry run of the form 250 ms after its last change. */
function useDryRun(path: string, body: Record<string, Json> | null) {
  const [state, setState] = useState<{ estimate: Estimate | null; faults: FieldFault[]; fault: unknown }>({ estimate: null, faults: [], fault: null });
  const text = path + JSON.stringify(body);
  useEffect(() => {
    if (!body) return undefined;
    let gone = false;
    const timer = setTimeout(() => {
      send<Estimate>("POST", `${path}?dry_run=1`, body).then(
        (estimate) => { if (!gone) setState({ estimate, faults: [], fault: null }); },
        (e) => { if (!gone) setState(e instanceof Problem && e.status === 422 ? { estimate: null, faults: e.faults, fault: null } : { estimate: null, faults: [], fault: e }); },
      );
    }, 250);
    return () => { gone = true; clearTimeout(timer); };
  }, [text]);
  return state;
}

/** Used for a kind without presets: all fields have their defaults. */
const NO_PRESET: Preset = { name: "defaults", meaning: "Every field has its default value.", settings: {}, config: {}, grid: {}, seeds: 1 };

/** Whether a preset is a study for these settings: its grid has a field, or it has several seeds, that they do not decide. */
const isStudy = (preset: Preset, config: Record<string, Json>): boolean =>
  Object.keys(preset.grid).some((name) => config[name] === undefined) || (preset.seeds > 1 && config.seed === undefined);

function FormOf({ all, like, datasets, fitting }: { all: Kind[]; like: Job | null; datasets: string[]; fitting: string[] | null }) {
  const q = route.value.query, data = q.get("dataset");
  const kind = all.find((k) => k.kind === (q.get("kind") ?? like?.kind ?? fitting?.[0])) ?? all[0];
  const presets = kind.presets.length > 0 ? kind.presets : [NO_PRESET];
  const usual = data !== null && takesData(kind) ? DATA_PRESET : presets[0].name;
  const presetName = q.get("preset") ?? (like?.kind === kind.kind ? like.preset ?? presets[0].name : usual);
  const preset = presets.find((p) => p.name === presetName) ?? presets[0];
  const [texts, setTexts] = useState<Texts>(() => (like && like.kind === kind.kind ? Object.fromEntries(Object.entries(like.config).filter(([n, v]) => preset.config[n] !== undefined && preset.config[n] !== v).map(([n, v]) => [n, String(v)])) : data ? { [DATA_FIELD]: data } : {}));
  const [name, setName] = useState(""), [priority, setPriority] = useState("0"), [search, setSearch] = useState("");
  const [failed, setFailed] = useState<{ body: string; problem: unknown } | null>(null), [busy, setBusy] = useState(false);
  const key = useRef(idempotencyKey());
  const byName = new Map([...kind.fields, ...kind.facts].map((f) => [f.name, f]));
  const fields = kind.fields.filter((f) => applies(f, (n) => texts[n] ?? preset.config[n] ?? byName.get(n)?.default));
  const config = Object.fromEntries(fields.filter((f) => texts[f.name] !== undefined).map((f) => [f.name, value(f, texts[f.name])]));
  const body: Record<string, Json> = { kind: kind.kind, preset: preset === NO_PRESET ? null : preset.name, config };
  if (name.trim()) body.name = name.trim();
  if (priority.trim() !== "0") body.priority = Number.isFinite(Number(priority)) && priority.trim() ? Number(priority) : priority;
  const dataField = fields.find((f) => f.name === DATA_FIELD), chosen = texts[DATA_FIELD] ?? String(preset.config[DATA_FIELD] ?? "");
  const waits = dataField !== undefined && chosen === ""; // a data set must be chosen first
  const path = isStudy(preset, config) ? "/v1/studies" : "/v1/jobs";
  const checked = useDryRun(path, waits ? null : body);
  const set = (field: string) => (text: string | null) => setTexts((now) => {
    const next = { ...now };
    if (text === null) delete next[field];
    else next[field] = text;
    return next;
  });
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      const made = await send<{ id: string }>("POST", path, body, { "Idempotency-Key": key.current });
      go(`${path.slice(4)}/${made.id}`);
    } catch (problem) {
      setFailed({ body: JSON.stringify(body), problem });
      key.current = idempotencyKey();
    }
    setBusy(false);
  };
  const pick = (changes: Record<string, string | null>) => { setTexts(data && takesData(all.find((k) => k.kind === (changes.kind ?? kind.kind))!) && (changes.preset ?? DATA_PRESET) === DATA_PRESET ? { [DATA_FIELD]: data } : {}); note({ like: null, ...changes }); };
  // a refused submission is shown until the form changes: at its fields, as the faults of a dry run
  const refused = failed?.body === JSON.stringify(body) ? failed.problem : null, refusals = refused instanceof Problem ? refused.faults : [];
  const faults = waits ? [] : checked.faults.length ? checked.faults : refusals;
  const wrong = new Set(faults.map((f) => f.pointer?.split("/")[2]));
  const matches = (f: Field) => `${f.name} ${f.meaning}`.toLowerCase().includes(search.toLowerCase());
  const open = fields.filter((f) => OPEN.includes(f.name)), rest = fields.filter((f) => f !== dataField && !open.includes(f));
  const found = rest.filter(matches), settings = found.filter((f) => f.level !== "research"), research = found.filter((f) => f.level === "research");
  const changedOf = (list: Field[]) => list.filter((f) => texts[f.name] !== undefined).length;
  const input = (f: Field) => <Input key={f.name} field={f} text={texts[f.name]} set={set(f.name)} usual={preset.config[f.name] ?? f.default} fault={faultOf(faults, `/config/${f.name}`)} />;
  const group = (list: Field[], level: string) => groupsOf(list).map((name) => {
    const own = list.filter((f) => f.group === name);
    return <Folded key={`${kind.kind} ${level} ${name}`} title={upper(name)} fields={own.length} changed={changedOf(own)} wrong={own.some((f) => wrong.has(f.name))} search={search !== ""}><div class="fields">{own.map(input)}</div></Folded>;
  });
  const loose = faults.filter((f) => !f.pointer?.startsWith("/config/") || !fields.some((field) => f.pointer === `/config/${field.name}`));
  const kinds = data !== null && fitting?.length ? all.filter((k) => fitting.includes(k.kind) || k === kind) : all;
  return (
    <form class="submit" onSubmit={(e) => void submit(e)}>
      <div class="main">
        <Section title={data ? `Train on ${data}` : "Job"}>
          <div class="grid-fields">
            <Choice label="Kind" value={kind.kind} options={kinds.map((k) => [k.kind, k.kind])} onChange={(v) => pick({ kind: v, preset: null })} />
            <Choice label="Preset" value={preset.name} options={presets.map((p) => [p.name, p.name])} onChange={(v) => pick({ kind: kind.kind, preset: v })} />
            {dataField && <Choice label="Data set" value={chosen} options={[["", datasets.length ? "choose…" : "none uploaded yet"], ...[...new Set([...datasets, chosen])].filter(Boolean).map((d) => [d, d] as [string, string])]} onChange={(v) => set(DATA_FIELD)(v || null)} />}
            <label class="choice"><span>Name</span><input value={name} maxLength={127} title="At most 127 characters" placeholder={chosen && dataField ? `${chosen} ${kind.kind}` : preset.name} onInput={(e) => setName((e.currentTarget as HTMLInputElement).value)} /></label>
          </div>
          {open.length > 0 && <div class="fields">{open.map(input)}</div>}
          {dataField && faultOf(faults, `/config/${DATA_FIELD}`) && <p class="wrong" role="alert">{faultOf(faults, `/config/${DATA_FIELD}`)}</p>}
          <p><strong>{kind.title}.</strong> {kind.summary}</p>
          <p class="muted">{preset.name}: {preset.meaning.replace(/\.$/, "")}.</p>
          {path === "/v1/studies" && <p>This preset is a study. It trains a job for each combination of {Object.entries(preset.grid).filter(([n]) => config[n] === undefined).map(([n, v]) => `${n} (${v.join(", ")})`).join(" and ") || "settings"}{preset.seeds > 1 && `, each with ${preset.seeds} seeds`}.</p>}
        </Section>
        <Section title="Settings" aside={changedOf(rest) > 0 ? <button type="button" class="small" onClick={() => setTexts(texts[DATA_FIELD] ? { [DATA_FIELD]: texts[DATA_FIELD] } : {})}>Reset {changedOf(rest)} changed</button> : <span class="muted">none changed</span>}>
          <input type="search" class="find" placeholder={`Search ${rest.length} fields`} aria-label="Find a field" value={search} onInput={(e) => setSearch((e.currentTarget as HTMLInputElement).value)} />
          {group(settings, "settings")}
          <Folded key={`${kind.kind} research`} title="Research (experiments of papers)" fields={research.length} changed={changedOf(research)} wrong={research.some((f) => wrong.has(f.name))} search={search !== ""}>{group(research, "research")}</Folded>
          <label class="choice priority"><span>Priority in the queue, from -100 to 100</span><input value={priority} inputMode="numeric" onInput={(e) => setPriority((e.currentTarget as HTMLInputElement).value)} /></label>
        </Section>
      </div>
      <aside>
        <Section title="Estimate">
          {waits ? <p class="muted">{datasets.length ? "Choose a data set." : <>Upload a data set on the page <a href="#/data">Data</a> first.</>}</p> : checked.estimate ? <><EstimateBox estimate={checked.estimate} />{checked.estimate.prediction && <p class="muted">The speed is {checked.estimate.prediction.basis}.</p>}</> : faults.length > 0 ? <p class="wrong" role="status">{faults.length === 1 ? "One field has an invalid value." : `${faults.length} fields have invalid values.`}</p> : <p class="muted">…</p>}
          {loose.map((f) => <p class="wrong" key={f.pointer}><code>{f.pointer}</code> {f.detail}</p>)}
          <Fault fault={(waits ? null : checked.fault) ?? (refusals.length ? null : refused)} />
          <button class="primary big" disabled={busy || waits || faults.length > 0}>Submit</button>
        </Section>
      </aside>
    </form>
  );
}

/** The kinds that accept a data set, according to the daemon. */
const kindsFor = (dataset: string, signal: AbortSignal): Promise<string[]> =>
  get<{ kinds: { kind: string; accepts: boolean }[] }>(`/v1/datasets/${encodeURIComponent(dataset)}`, signal).then((d) => d.kinds.filter((k) => k.accepts).map((k) => k.kind));

export function SubmitPage() {
  const q = route.value.query, like = q.get("like"), dataset = q.get("dataset");
  const loaded = useLoad(`form ${like} ${dataset}`, async (signal) => {
    const all = await kinds();
    const [old, sets, fitting] = await Promise.all([like ? get<Job>(`/v1/jobs/${like}`, signal) : null,
      get<{ datasets: { name: string }[] }>("/v1/datasets", signal).then((body) => body.datasets.map((d) => d.name), () => []), dataset ? kindsFor(dataset, signal) : null]);
    return { all, like: old, datasets: sets, fitting };
  });
  useEffect(() => { document.title = "New job · motifd"; }, []);
  return (
    <>
      <div class="page-head"><h1>New job</h1></div>
      <Fault fault={loaded.fault} />
      {loaded.data && <FormOf key={`${like} ${dataset}`} {...loaded.data} />}
    </>
  );
}
