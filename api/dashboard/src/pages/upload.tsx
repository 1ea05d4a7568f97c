// The form that uploads a file: its name, its format, and the options that this format reads, as the daemon lists them.
import { useEffect, useRef, useState } from "preact/hooks";
import { headers, Problem } from "../api";
import { datasetName, MOST, NAME_RULE } from "../dataset_name";
import { bytes, number } from "../format";
import { Bar, Choice, Facts, Fault, Section } from "../ui/base";
import { Names, sizeOf, type DataSet } from "./dataset_facts";

export interface Option { name: string; type: "choice" | "integer" | "text"; meaning: string; choices?: string[]; min?: number; max?: number }
export interface Formats { endings: { ending: string; format: string }[]; formats: { name: string; options: Option[] }[] }

/** What the daemon has recognised in a file, before it stores the file. options: the values in effect. */
interface Found extends DataSet {
  options: Record<string, string>; values?: { min: number; max: number };
  recognised?: { columns?: Record<string, string[] | number>; rate?: number; words?: string; range?: [number, number] };
  first?: { text?: string; letters?: string; label?: string[]; group?: string }[];
}

/** Uses XMLHttpRequest, because fetch does not report the progress of an upload. */
function upload<T>(file: File, name: string, query: string, sent: (share: number) => void, stop?: AbortSignal): Promise<T> {
  const request = new XMLHttpRequest();
  stop?.addEventListener("abort", () => request.abort());
  return new Promise((done, fail) => {
    request.open("PUT", `/v1/datasets/${encodeURIComponent(name)}?${query}`);
    for (const [key, value] of Object.entries(headers())) request.setRequestHeader(key, value);
    request.upload.onprogress = (e) => sent(e.loaded / e.total);
    request.onerror = () => fail(new Problem(0, "No answer", "The connection closed during the upload. Upload the file again."));
    request.onload = () => {
      if (request.status < 300) return done(JSON.parse(request.responseText) as T);
      let problem: { title?: string; detail?: string; errors?: Problem["faults"] } = {};
      try {
        problem = JSON.parse(request.responseText);
      } catch { /* a proxy's answer without a JSON body */ }
      fail(new Problem(request.status, problem.title ?? request.statusText, problem.detail ?? "", problem.errors));
    };
    request.send(file);
  });
}

/** The text of the empty choice: what the daemon does without the option. */
const unset = (option: Option, now: string | undefined) => (option.name !== "genome" ? (now ? `default: ${now}` : "default") : option.choices!.length > 0 ? "choose…" : "this server has no genomes");

/** now: the value in effect while the field is empty. */
function OptionField({ option, text, set, fault, now }: { option: Option; text: string; set: (text: string) => void; fault?: string; now?: string }) {
  const id = `o-${option.name}`, common = { id, "aria-invalid": fault ? true : undefined, "aria-describedby": `${id}-m${fault ? ` ${id}-e` : ""}` } as const;
  const change = (e: Event) => set((e.currentTarget as HTMLInputElement).value);
  return (
    <div class={`field ${text ? "changed" : ""}`}>
      <label for={id}>{option.name}</label>
      {option.choices ? <select {...common} value={text} onChange={change}><option value="">{unset(option, now)}</option>{option.choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
        : <input {...common} value={text} placeholder={now} inputMode={option.type === "integer" ? "numeric" : "text"} autocomplete="off" spellcheck={false} onInput={change} />}
      {fault && <p class="wrong" id={`${id}-e`} role="alert">{fault}</p>}
      <p class="meaning" id={`${id}-m`}>{option.meaning}{option.type === "integer" && option.min !== undefined && <span class="allowed"> an integer in [{option.min}, {option.max}]</span>}</p>
    </div>
  );
}

const CHECKED = 64e6; // bytes of a file that is checked after each change; a larger one when the user asks
const WAIT = 500; // ms without a change before a check

/** Sends the file for a check: the daemon answers what it recognises and stores nothing. */
function useFound(file: File, name: string, query: string | null, wanted: boolean) {
  const [state, setState] = useState<{ key: string; found: Found | null; fault: unknown } | null>(null), stop = useRef<AbortController | null>(null), key = `${name}?${query}`;
  useEffect(() => {
    if (query === null || !name || !wanted) return undefined;
    const own = (stop.current = new AbortController());
    const timer = setTimeout(() => {
      upload<Found>(file, name, `${query}&dry_run=1`, () => undefined, own.signal).then((found) => setState({ key, found, fault: null }), (fault) => { if (!own.signal.aborted) setState((s) => ({ key, found: s?.found ?? null, fault })); });
    }, WAIT);
    return () => { clearTimeout(timer); own.abort(); };
  }, [key, wanted]);
  return { found: state?.found ?? null, fault: state?.key === key ? state.fault : null, busy: wanted && query !== null && state?.key !== key, stop: () => stop.current?.abort() };
}

function Recognised({ found }: { found: Found }) {
  const { recognised: r } = found, range = r?.range ?? (found.values && [found.values.min, found.values.max]), rate = found.rate ?? r?.rate, roles = Object.entries(r?.columns ?? {}).filter((entry): entry is [string, string[]] => Array.isArray(entry[1]) && entry[1].length > 0);
  return (
    <div class="recognised">
      <Facts items={[["Kind", found.kind], ["Samples", number(found.samples)], ["Size of a sample", sizeOf(found)], ["Labels", found.target === "none" ? "none" : `${found.target}, ${number(found.vocabulary.length)} ${found.vocabulary.length === 1 ? "name" : "names"}`],
        ["Groups", found.groups?.length ? number(found.groups.length) : "none"], ...(rate ? [["Rate", `${number(rate)} Hz`] as [string, string]] : []), ...(range && found.kind !== "texts" ? [["Values", `${number(range[0])} to ${number(range[1])}`] as [string, string]] : [])]} />
      <Names title="names" names={found.vocabulary} /><Names title="groups" names={found.groups ?? []} />
      {roles.length > 0 && <p class="names"><span class="muted">columns</span> {roles.map(([role, names]) => <span key={role}><b>{names.slice(0, 8).join(", ")}</b><span class="muted"> {role.replaceAll("_", " ")}</span></span>)}</p>}
      {r?.words && <p class="muted">{r.words}</p>}
      {(found.first ?? []).length > 0 && <ul class="firsts" aria-label="First samples">{found.first!.slice(0, 3).map((s, i) => <li key={i}>{(s.text ?? s.letters ?? "").slice(0, 90)}{s.label && <> <b>{s.label.join(" ") || "no name"}</b></>}{s.group && <span class="muted"> {s.group}</span>}</li>)}</ul>}
      {(found.warnings ?? []).length > 0 && <ul class="warnings" aria-label="Warnings about the file">{found.warnings!.map((w) => <li key={w.code}>{w.text}</li>)}</ul>}
    </div>
  );
}

function FileForm({ file, known, close, done }: { file: File; known: Formats; close: () => void; done: () => void }) {
  const ending = file.name.replace(/\.gz$/i, "").split(".").pop()!.toLowerCase();
  const [name, setName] = useState(datasetName(file.name)), [format, setFormat] = useState(known.endings.find((e) => e.ending.toLowerCase() === ending)?.format ?? "");
  const [texts, setTexts] = useState<Record<string, string>>({}), [sent, setSent] = useState<number | null>(null), [failed, setFailed] = useState<unknown>(null);
  const options = known.formats.find((f) => f.name === format)?.options ?? [];
  const stated = options.filter((o) => texts[o.name]?.trim()).map((o) => [o.name, texts[o.name].trim()]), query = new URLSearchParams([["format", format], ...stated]).toString();
  const [asked, ask] = useState(file.size <= CHECKED), checked = useFound(file, name.trim(), format ? query : null, asked && sent === null);
  const wrong = failed ?? checked.fault, faults = wrong instanceof Problem ? wrong.faults : [], shown = (f: { parameter?: string }) => options.some((o) => o.name === f.parameter);
  const loose = wrong instanceof Problem && faults.some(shown) ? (faults.every(shown) ? null : new Problem(wrong.status, wrong.title, "", faults.filter((f) => !shown(f)))) : wrong;
  const submit = async (e: Event) => {
    e.preventDefault();
    setFailed(null);
    checked.stop();
    setSent(0);
    await upload(file, name.trim(), query, setSent).then(done, setFailed);
    setSent(null);
  };
  return (
    <form class="upload" onSubmit={(e) => void submit(e)}>
      <Section title={`Upload ${file.name}`} aside={<span class="muted">{bytes(file.size)}</span>}>
        <div class="grid-fields">
          <label class="choice"><span>Name of the data set (a-z, 0-9, “.”, “-”, “_”)</span><input value={name} maxLength={MOST} required pattern="[a-z0-9][a-z0-9._\-]*" title={NAME_RULE} onInput={(e) => setName((e.currentTarget as HTMLInputElement).value)} /></label>
          <Choice label="Format" value={format} options={[...(format ? [] : [["", "choose…"] as [string, string]]), ...known.formats.map((f) => [f.name, f.name] as [string, string])]} onChange={(v) => { setFormat(v); setFailed(null); }} />
        </div>
        {!format && <p class="muted">The daemon knows no format for the ending .{ending}. Choose the format of the file.</p>}
        {format && options.length === 0 && <p class="muted">This format has no options.</p>}
        {format && <><h3>Recognised</h3>
          {checked.found ? <Recognised found={checked.found} /> : <p class="muted" role="status">{checked.busy ? "The daemon reads the file…" : asked ? "Nothing yet." : <>The file is large. <button type="button" class="small" onClick={() => ask(true)}>Check it before the upload</button></>}</p>}
          {options.length > 0 && <h3>Change what is recognised</h3>}</>}
        <div class="fields">{options.map((o) => <OptionField key={`${format} ${o.name}`} option={o} text={texts[o.name] ?? ""} now={checked.found?.options[o.name]} fault={faults.find((f) => f.parameter === o.name)?.detail} set={(text) => { setFailed(null); setTexts((now) => ({ ...now, [o.name]: text })); }} />)}</div>
        {sent !== null && <Bar value={sent} label="Uploaded" />}
        <Fault fault={loose} />
        <div class="tools end"><button class="primary" disabled={!format || sent !== null}>Upload</button><button type="button" disabled={sent !== null} onClick={close}>Do not upload</button></div>
      </Section>
    </form>
  );
}

/** The button that selects a file, and the form for the selected file. */
export function useUpload(known: Formats | null, reload: () => void) {
  const [file, setFile] = useState<File | null>(null), [turn, setTurn] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const close = () => { setFile(null); if (input.current) input.current.value = ""; }; // the user may have left the page
  const choose = (chosen: File | undefined) => { if (chosen) { setFile(chosen); setTurn((n) => n + 1); } };
  const button = <label class="choice"><span>Upload {known?.endings.map((e) => `.${e.ending}`).join(", ")}</span><input ref={input} type="file" disabled={!known} onChange={(e) => choose((e.currentTarget as HTMLInputElement).files![0])} /></label>;
  const form = file && known && <FileForm key={turn} file={file} known={known} close={close} done={() => { close(); reload(); }} />;
  return { button, form };
}
