// Uploads, shows and deletes the user's own data sets.
import { useEffect, useState } from "preact/hooks";
import { get, headers, Problem, request, send } from "../api";
import { datasetName, NAME_RULE } from "../dataset_name";
import { bytes, number } from "../format";
import { href } from "../router";
import { Bar, Facts, Fault, Section, useLoad } from "../ui/base";

interface Named { name: string; count?: number }
interface DataSet { name: string; bytes: number; format: string; kind: string; target: string; samples: number; shape: { channels: number; rows: number; cols: number }; vocabulary: Named[]; columns?: Named[]; groups?: Named[]; warnings?: { code: string; text: string }[] }

interface DataSets { datasets: DataSet[]; bytes: number; most_bytes: number; endings: { ending: string; format: string }[]; formats: { name: string; options: string[] }[] }

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
      const problem = JSON.parse(request.responseText);
      fail(new Problem(request.status, problem.title, problem.detail, problem.errors));
    };
    request.send(file);
  });
}

function Preview({ name }: { name: string }) {
  const [whole, setWhole] = useState(false);
  const { data, fault } = useLoad(name, async (signal) => URL.createObjectURL(await (await request(`/v1/datasets/${name}/preview`, { signal })).blob()));
  useEffect(() => () => { if (data) URL.revokeObjectURL(data); }, [data]);
  return <>{data && <button type="button" class="peek" aria-expanded={whole} title={whole ? "Show less" : "Show the whole picture"} onClick={() => setWhole(!whole)}><img class={`preview${whole ? " whole" : ""}`} src={data} alt={`First samples of ${name}`} /></button>}<Fault fault={fault} /></>;
}

const SHOWN = 24; // names in a list
/** Names with their counts. */
function Names({ title, names }: { title: string; names: Named[] }) {
  if (names.length === 0) return null;
  return <p class="names"><span class="muted">{number(names.length)} {title}</span> {names.slice(0, SHOWN).map((n) => <span key={n.name}><b>{n.name}</b>{n.count !== undefined && <span class="muted"> {number(n.count)}</span>}</span>)}{names.length > SHOWN && <span class="muted">and {number(names.length - SHOWN)} more</span>}</p>;
}

/** The size of a sample: "80 long", "24 × 24", "12 columns". */
const sizeOf = ({ kind, shape: { rows, cols, channels } }: DataSet) => (kind === "table" ? `${number(cols)} columns` : `${rows > 1 ? `${rows} × ` : ""}${number(cols)}${rows > 1 ? "" : " long"}${channels > 1 ? `, ${channels} channels` : ""}`);

export function DataPage() {
  const { data, fault, reload } = useLoad("datasets", (signal) => get<DataSets>("/v1/datasets", signal));
  const [sent, setSent] = useState<number | null>(null), [failed, setFailed] = useState<unknown>(null), [sure, setSure] = useState(""), [label, setLabel] = useState(""), [group, setGroup] = useState(""), [layer, setLayer] = useState("");
  useEffect(() => { document.title = "Data · motifd"; }, []);
  /** The formats that read an option of uploads. */
  const readers = (option: string) => (data?.formats ?? []).filter((f) => f.options.includes(option)).map((f) => f.name).join(", ");
  const take = async (input: HTMLInputElement) => {
    const file = input.files![0], ending = file.name.replace(/\.gz$/i, "").split(".").pop()!.toLowerCase();
    const format = data!.endings.find((e) => e.ending === ending)?.format ?? ending, reads = data!.formats.find((f) => f.name === format)?.options;
    const query = new URLSearchParams({ format }), stated = Object.entries({ label, group, layer }).filter(([, value]) => value);
    const unread = stated.filter(([name]) => reads && !reads.includes(name)).map(([name]) => ({ parameter: name, detail: `applies only to ${readers(name)}; clear the field` }));
    stated.forEach(([name, value]) => query.set(name, value));
    setFailed(unread.length > 0 ? new Problem(422, "Some fields do not apply", `A file of the format ${format} has no such columns or layers.`, unread) : null);
    input.value = unread.length > 0 ? "" : input.value;
    if (unread.length > 0) return;
    setSent(0);
    await upload(file, datasetName(file.name), query.toString(), setSent).then(reload, setFailed);
    input.value = "";
    setSent(null);
  };
  const remove = (name: string) => send("DELETE", `/v1/datasets/${name}`).then(reload, setFailed);
  return (
    <>
      <div class="page-head"><h1>Data</h1>
        <label class="choice"><span>Upload {data?.endings.filter((e) => e.format !== "bed").map((e) => `.${e.ending}`).join(", ")}</span><input type="file" disabled={sent !== null || !data} onChange={(e) => void take(e.currentTarget as HTMLInputElement)} /></label></div>
      <details class="rest"><summary>Columns of a table</summary><div class="tools">
        <label class="choice"><span>Column with the label (label)</span><input value={label} onInput={(e) => setLabel((e.currentTarget as HTMLInputElement).value)} /></label>
        <label class="choice"><span>Column with the group (group)</span><input value={group} onInput={(e) => setGroup((e.currentTarget as HTMLInputElement).value)} /></label>
        <label class="choice"><span>Layer of a .h5ad (X)</span><input value={layer} onInput={(e) => setLayer((e.currentTarget as HTMLInputElement).value)} /></label></div></details>
      {sent !== null && <Bar value={sent} label="Uploaded" />}
      <Fault fault={failed ?? fault} />
      {data?.datasets.length === 0 && <p class="empty">No data sets yet. Upload a file to train on it.</p>}
      {data?.datasets.map((d) => (
        <Section key={d.name} title={d.name} aside={<div class="tools">{d.kind !== "motifs" && <a class="button primary" href={href("new", { dataset: d.name })}>Train on this<span class="hidden"> {d.name}</span></a>}{sure === d.name && <button type="button" onClick={() => setSure("")}>Keep</button>}<button type="button" class={sure === d.name ? "danger" : ""} onClick={() => (sure === d.name ? void remove(d.name) : setSure(d.name))}>{sure === d.name ? "Delete permanently" : "Delete"}</button></div>}>
          <div class="dataset"><div>
            <Facts items={[["Kind", d.kind], ["Labels", d.target], ["Samples", number(d.samples)], ["Size of a sample", sizeOf(d)], ["File", bytes(d.bytes)]]} />
            <Names title="names" names={d.vocabulary} /><Names title="groups" names={d.groups ?? []} /><Names title="columns" names={d.columns ?? []} />
            {(d.warnings ?? []).length > 0 && <ul class="warnings" aria-label={`Warnings about ${d.name}`}>{d.warnings!.map((w) => <li key={w.code}>{w.text}</li>)}</ul>}
          </div><div><Preview name={d.name} /></div></div>
        </Section>
      ))}
      {data && <p class="hint">{bytes(data.bytes)} of {bytes(data.most_bytes)} used. {NAME_RULE}</p>}
    </>
  );
}
