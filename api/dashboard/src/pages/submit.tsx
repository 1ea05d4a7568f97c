// The form that submits a job, made from the tables of /v1/kinds. After each change the page sends a dry run, and shows every error of the
// daemon's answer beside the field that its pointer names.
import { useEffect, useRef, useState } from "preact/hooks";
import { applies, get, idempotencyKey, kinds, Problem, send, type Fault as FieldFault, type Field, type Job, type Json, type Kind, type Preset } from "../api";
import { bytes, duration, number } from "../format";
import { go, note, route } from "../router";
import { Choice, Facts, Fault, Section, useLoad } from "../ui/base";

interface Estimate { parameters: number; samples: number; flops: number; bytes: number; checkpoint_bytes: number; predicted_seconds: number; config: Record<string, Json>; prediction: { basis: string } }
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

/** Fields under the titles of their groups, in the order of the kind's table. */
function Groups({ fields, input }: { fields: Field[]; input: (field: Field) => preact.JSX.Element }) {
  return (
    <>{[...new Set(fields.map((f) => f.group))].map((group) => (
      <fieldset key={group} class="group"><legend>{group[0].toUpperCase() + group.slice(1)}</legend><div class="fields">{fields.filter((f) => f.group === group).map(input)}</div></fieldset>
    ))}</>
  );
}

/** The fields of one level, folded until the user opens them, searches, or one of them is wrong. */
function Folded({ title, fields, changed, wrong, search, input }: { title: string; fields: Field[]; changed: number; wrong: boolean; search: boolean; input: (field: Field) => preact.JSX.Element }) {
  const [open, setOpen] = useState(false);
  useEffect(() => { if (wrong || search) setOpen(true); }, [wrong, search]);
  if (!fields.length) return null;
  return (
    <details class="rest" open={open} onToggle={(e) => setOpen((e.currentTarget as HTMLDetailsElement).open)}>
      <summary>{title}: {fields.length} {fields.length === 1 ? "field" : "fields"}{changed > 0 && `, ${changed} changed`}</summary>
      <Groups fields={fields} input={input} />
    </details>
  );
}

const LEVELS = [["advanced", "Advanced (tuning)"], ["research", "Research (experiments of papers)"]];

const faultOf = (faults: FieldFault[], pointer: string) => faults.find((f) => f.pointer === pointer)?.detail;

function EstimateBox({ estimate }: { estimate: Estimate }) {
  return (
    <Facts items={[["Predicted time", duration(estimate.predicted_seconds)], ["Parameters", number(estimate.parameters)], ["Samples", number(estimate.samples)],
      ["Operations", `${number(estimate.flops)} FLOP`], ["Memory", bytes(estimate.bytes)], ["Size of a checkpoint", bytes(estimate.checkpoint_bytes)]]} />
  );
}

/** Sends a dry run of the form 250 ms after its last change. */
function useDryRun(body: Record<string, Json> | null) {
  const [state, setState] = useState<{ estimate: Estimate | null; faults: FieldFault[]; fault: unknown }>({ estimate: null, faults: [], fault: null });
  const text = JSON.stringify(body);
  useEffect(() => {
    if (!body) return undefined;
    let gone = false;
    const timer = setTimeout(() => {
      send<Estimate>("POST", "/v1/jobs?dry_run=1", body).then(
        (estimate) => { if (!gone) setState({ estimate, faults: [], fault: null }); },
        (e) => { if (!gone) setState(e instanceof Problem && e.status === 422 ? { estimate: null, faults: e.faults, fault: null } : { estimate: null, faults: [], fault: e }); },
      );
    }, 250);
    return () => { gone = true; clearTimeout(timer); };
  }, [text]);
  return state;
}

/** Used for a kind without presets: all fields have their defaults. */
const NO_PRESET: Preset = { name: "defaults", meaning: "Every field has its default value.", settings: {}, config: {} };

function FormOf({ all, like }: { all: Kind[]; like: Job | null }) {
  const q = route.value.query;
  const kind = all.find((k) => k.kind === (q.get("kind") ?? like?.kind)) ?? all[0];
  const presets = kind.presets.length > 0 ? kind.presets : [NO_PRESET];
  const presetName = q.get("preset") ?? (like?.kind === kind.kind ? like.preset ?? presets[0].name : presets[0].name);
  const preset = presets.find((p) => p.name === presetName) ?? presets[0];
  const [texts, setTexts] = useState<Texts>(() => (like && like.kind === kind.kind ? Object.fromEntries(Object.entries(like.config).filter(([n, v]) => preset.config[n] !== undefined && preset.config[n] !== v).map(([n, v]) => [n, String(v)])) : {}));
  const [name, setName] = useState(""), [priority, setPriority] = useState("0"), [search, setSearch] = useState("");
  const [failed, setFailed] = useState<unknown>(null), [busy, setBusy] = useState(false);
  const key = useRef(idempotencyKey());
  const byName = new Map(kind.fields.map((f) => [f.name, f]));
  const fields = kind.fields.filter((f) => applies(f, (n) => texts[n] ?? preset.config[n] ?? byName.get(n)?.default));
  const config = Object.fromEntries(fields.filter((f) => texts[f.name] !== undefined).map((f) => [f.name, value(f, texts[f.name])]));
  const body: Record<string, Json> = { kind: kind.kind, preset: preset === NO_PRESET ? null : preset.name, config };
  if (name.trim()) body.name = name.trim();
  if (priority.trim() !== "0") body.priority = Number.isFinite(Number(priority)) && priority.trim() ? Number(priority) : priority;
  const checked = useDryRun(body);
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
      const job = await send<Job>("POST", "/v1/jobs", body, { "Idempotency-Key": key.current });
      go(`jobs/${job.id}`);
    } catch (problem) {
      setFailed(problem);
      key.current = idempotencyKey();
    }
    setBusy(false);
  };
  const pick = (changes: Record<string, string | null>) => { setTexts({}); note({ like: null, ...changes }); };
  const checkedNames = new Set(checked.faults.map((f) => f.pointer?.split("/")[2]));
  const matches = (f: Field) => `${f.name} ${f.meaning}`.toLowerCase().includes(search.toLowerCase());
  const at = (level: string) => fields.filter((f) => f.level === level && matches(f));
  const input = (f: Field) => <Input key={f.name} field={f} text={texts[f.name]} set={set(f.name)} usual={preset.config[f.name] ?? f.default} fault={faultOf(checked.faults, `/config/${f.name}`)} />;
  const loose = checked.faults.filter((f) => !f.pointer?.startsWith("/config/") || !fields.some((field) => f.pointer === `/config/${field.name}`));
  return (
    <form class="submit" onSubmit={(e) => void submit(e)}>
      <div class="main">
        <Section title="Method">
          <div class="grid-fields">
            <Choice label="Kind" value={kind.kind} options={all.map((k) => [k.kind, k.kind])} onChange={(v) => pick({ kind: v, preset: null })} />
            <Choice label="Preset" value={preset.name} options={presets.map((p) => [p.name, p.name])} onChange={(v) => pick({ kind: kind.kind, preset: v })} />
            <label class="choice"><span>Name</span><input value={name} maxLength={127} placeholder={preset.name} onInput={(e) => setName((e.currentTarget as HTMLInputElement).value)} /></label>
            <label class="choice"><span>Priority</span><input value={priority} inputMode="numeric" onInput={(e) => setPriority((e.currentTarget as HTMLInputElement).value)} /></label>
          </div>
          <p><strong>{kind.title}.</strong> {kind.summary}</p>
          <p class="muted">{preset.name}: {preset.meaning.replace(/\.$/, "")}.</p>
        </Section>
        <Section title="Configuration" aside={Object.keys(texts).length > 0 ? <button type="button" class="small" onClick={() => setTexts({})}>Reset {Object.keys(texts).length} changed</button> : undefined}>
          <input type="search" class="find" placeholder={`Search ${fields.length} fields`} aria-label="Find a field" value={search} onInput={(e) => setSearch((e.currentTarget as HTMLInputElement).value)} />
          <Groups fields={at("basic")} input={input} />
          {LEVELS.map(([level, title]) => <Folded key={`${kind.kind} ${level}`} title={title} fields={at(level)} search={search !== ""} input={input}
            changed={at(level).filter((f) => texts[f.name] !== undefined).length} wrong={at(level).some((f) => checkedNames.has(f.name))} />)}
        </Section>
      </div>
      <aside>
        <Section title="Estimate">
          {checked.estimate ? <><EstimateBox estimate={checked.estimate} /><p class="muted">Speed: {checked.estimate.prediction.basis}.</p></> : checked.faults.length > 0 ? <p class="wrong" role="status">{checked.faults.length === 1 ? "One field has an invalid value." : `${checked.faults.length} fields have invalid values.`}</p> : <p class="muted">…</p>}
          {loose.map((f) => <p class="wrong" key={f.pointer}><code>{f.pointer}</code> {f.detail}</p>)}
          <Fault fault={checked.fault ?? failed} />
          <button class="primary big" disabled={busy || checked.faults.length > 0}>Submit</button>
        </Section>
      </aside>
    </form>
  );
}

export function SubmitPage() {
  const like = route.value.query.get("like");
  const loaded = useLoad(`form ${like}`, async (signal) => ({ all: await kinds(), like: like ? await get<Job>(`/v1/jobs/${like}`, signal) : null }));
  useEffect(() => { document.title = "New job · motifd"; }, []);
  return (
    <>
      <div class="page-head"><h1>New job</h1></div>
      <Fault fault={loaded.fault} />
      {loaded.data && <FormOf all={loaded.data.all} like={loaded.data.like} />}
    </>
  );
}
