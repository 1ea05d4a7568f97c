// The form that uploads a file: its name, its format, and the options that this format reads, as the daemon lists them.
import { useRef, useState } from "preact/hooks";
import { headers, Problem } from "../api";
import { datasetName, MOST, NAME_RULE } from "../dataset_name";
import { bytes } from "../format";
import { Bar, Choice, Fault, Section } from "../ui/base";

export interface Option { name: string; type: "choice" | "integer" | "text"; meaning: string; choices?: string[]; min?: number; max?: number }
export interface Formats { endings: { ending: string; format: string }[]; formats: { name: string; options: Option[] }[] }

/** Uses XMLHttpRequest, because fetch does not report the progress of an upload. */
function upload(file: File, name: string, query: string, sent: (share: number) => void): Promise<void> {
  const request = new XMLHttpRequest();
  return new Promise((done, fail) => {
    request.open("PUT", `/v1/datasets/${encodeURIComponent(name)}?${query}`);
    for (const [key, value] of Object.entries(headers())) request.setRequestHeader(key, value);
    request.upload.onprogress = (e) => sent(e.loaded / e.total);
    request.onerror = () => fail(new Problem(0, "No answer", "The connection closed during the upload. Upload the file again."));
    request.onload = () => {
      if (request.status < 300) return done();
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
const unset = (option: Option) => (option.name !== "genome" ? "default" : option.choices!.length > 0 ? "choose…" : "this server has no genomes");

function OptionField({ option, text, set, fault }: { option: Option; text: string; set: (text: string) => void; fault?: string }) {
  const id = `o-${option.name}`, common = { id, "aria-invalid": fault ? true : undefined, "aria-describedby": `${id}-m${fault ? ` ${id}-e` : ""}` } as const;
  const change = (e: Event) => set((e.currentTarget as HTMLInputElement).value);
  return (
    <div class={`field ${text ? "changed" : ""}`}>
      <label for={id}>{option.name}</label>
      {option.choices ? <select {...common} value={text} onChange={change}><option value="">{unset(option)}</option>{option.choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
        : <input {...common} value={text} inputMode={option.type === "integer" ? "numeric" : "text"} autocomplete="off" spellcheck={false} onInput={change} />}
      {fault && <p class="wrong" id={`${id}-e`} role="alert">{fault}</p>}
      <p class="meaning" id={`${id}-m`}>{option.meaning}</p>
    </div>
  );
}

function FileForm({ file, known, close, done }: { file: File; known: Formats; close: () => void; done: () => void }) {
  const ending = file.name.replace(/\.gz$/i, "").split(".").pop()!.toLowerCase();
  const [name, setName] = useState(datasetName(file.name)), [format, setFormat] = useState(known.endings.find((e) => e.ending.toLowerCase() === ending)?.format ?? "");
  const [texts, setTexts] = useState<Record<string, string>>({}), [sent, setSent] = useState<number | null>(null), [failed, setFailed] = useState<unknown>(null);
  const options = known.formats.find((f) => f.name === format)?.options ?? [];
  const faults = failed instanceof Problem ? failed.faults : [], shown = (f: { parameter?: string }) => options.some((o) => o.name === f.parameter);
  const loose = failed instanceof Problem && faults.some(shown) ? (faults.every(shown) ? null : new Problem(failed.status, failed.title, "", faults.filter((f) => !shown(f)))) : failed;
  const submit = async (e: Event) => {
    e.preventDefault();
    setFailed(null);
    setSent(0);
    const stated = options.filter((o) => texts[o.name]?.trim()).map((o) => [o.name, texts[o.name].trim()]);
    await upload(file, name.trim(), new URLSearchParams([["format", format], ...stated]).toString(), setSent).then(done, setFailed);
    setSent(null);
  };
  return (
    <form class="upload" onSubmit={(e) => void submit(e)}>
      <Section title={`Upload ${file.name}`} aside={<span class="muted">{bytes(file.size)}</span>}>
        <div class="grid-fields">
          <label class="choice"><span>Name of the data set</span><input value={name} maxLength={MOST} required pattern="[a-z0-9][a-z0-9._\-]*" title={NAME_RULE} onInput={(e) => setName((e.currentTarget as HTMLInputElement).value)} /></label>
          <Choice label="Format" value={format} options={[...(format ? [] : [["", "choose…"] as [string, string]]), ...known.formats.map((f) => [f.name, f.name] as [string, string])]} onChange={(v) => { setFormat(v); setFailed(null); }} />
        </div>
        {!format && <p class="muted">The daemon knows no format for the ending .{ending}. Choose the format of the file.</p>}
        {format && options.length === 0 && <p class="muted">This format has no options.</p>}
        <div class="fields">{options.map((o) => <OptionField key={`${format} ${o.name}`} option={o} text={texts[o.name] ?? ""} fault={faults.find((f) => f.parameter === o.name)?.detail} set={(text) => setTexts((now) => ({ ...now, [o.name]: text }))} />)}</div>
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
