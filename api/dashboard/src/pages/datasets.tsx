// Uploads, shows and deletes the user's own data sets.
import { useEffect, useState } from "preact/hooks";
import { get, send } from "../api";
import { NAME_RULE } from "../dataset_name";
import { bytes, number, percent } from "../format";
import { href } from "../router";
import { Facts, Fault, Section, useLoad } from "../ui/base";
import { usePicture } from "../ui/pictures";
import { Names, sizeOf, type DataSet } from "./dataset_facts";
import { useUpload, type Formats } from "./upload";
import "./datasets.css";

interface DataSets extends Formats { datasets: DataSet[]; bytes: number; most_bytes: number }

function Preview({ name }: { name: string }) {
  const [whole, setWhole] = useState(false);
  const { url, fault } = usePicture(`/v1/datasets/${name}/preview`);
  return <>{url && <button type="button" class="peek" aria-expanded={whole} title={whole ? "Show less" : "Show the whole picture"} onClick={() => setWhole(!whole)}><img class={`preview${whole ? " whole" : ""}`} src={url} alt={`First samples of ${name}`} /></button>}<Fault fault={fault} /></>;
}

interface Division { text: string; parts: Record<string, { samples: number; share: number; group_count?: number }> }
/** How a job divides the samples. Nothing if they cannot be divided: the form for a new job says why. */
function Divided({ name }: { name: string }) {
  const { data } = useLoad(name, (signal) => get<Division>(`/v1/datasets/${name}/division`, signal));
  if (!data) return null;
  return <p class="names"><span class="muted">divided {data.text}:</span> {Object.entries(data.parts).map(([part, p]) => <span key={part}><b>{part}</b><span class="muted"> {number(p.samples)} ({percent(p.share)}{p.group_count !== undefined && `, ${number(p.group_count)} groups`})</span></span>)}</p>;
}

export function DataPage() {
  const { data, fault, reload } = useLoad("datasets", (signal) => get<DataSets>("/v1/datasets", signal));
  const [failed, setFailed] = useState<unknown>(null), [sure, setSure] = useState("");
  const upload = useUpload(data, reload);
  useEffect(() => { document.title = "Data · motifd"; }, []);
  const remove = (name: string) => send("DELETE", `/v1/datasets/${name}`).then(reload, setFailed);
  return (
    <>
      <div class="page-head"><h1>Data</h1>{upload.button}</div>
      {upload.form}
      <Fault fault={failed ?? fault} />
      {data?.datasets.length === 0 && <p class="empty">No data sets yet. Upload a file to train on it.</p>}
      {data?.datasets.map((d) => (
        <Section key={d.name} title={d.name} aside={<div class="tools">{d.kind !== "motifs" && <a class="button primary" href={href("new", { dataset: d.name })}>Train on this<span class="hidden"> {d.name}</span></a>}{sure === d.name && <button type="button" onClick={() => setSure("")}>Keep</button>}<button type="button" class={sure === d.name ? "danger" : ""} onClick={() => (sure === d.name ? void remove(d.name) : setSure(d.name))}>{sure === d.name ? "Delete permanently" : "Delete"}</button></div>}>
          <div class="dataset"><div>
            <Facts items={[["Kind", d.kind], ["Labels", d.target], ["Samples", number(d.samples)], ["Size of a sample", sizeOf(d)], ["File", bytes(d.bytes)]]} />
            <Names title={d.kind === "motifs" ? "motifs" : "names"} names={d.vocabulary} /><Names title="numbers" names={d.numbers ?? []} /><Names title="groups" names={d.groups ?? []} /><Names title="columns" names={d.columns ?? []} />{d.kind !== "motifs" && <Divided name={d.name} />}
            {(d.warnings ?? []).length > 0 && <ul class="warnings" aria-label={`Warnings about ${d.name}`}>{d.warnings!.map((w) => <li key={w.code}>{w.text}</li>)}</ul>}
          </div><div><Preview name={d.name} /></div></div>
        </Section>
      ))}
      {data && <p class="hint">{bytes(data.bytes)} of {bytes(data.most_bytes)} used. {NAME_RULE}</p>}
    </>
  );
}
