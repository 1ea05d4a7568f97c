// Uploads, shows and deletes the user's own data sets.
import { useEffect, useState } from "preact/hooks";
import { get, headers, Problem, request, send } from "../api";
import { datasetName, NAME_RULE } from "../dataset_name";
import { bytes, number } from "../format";
import { href } from "../router";
import { Bar, Fault, Section, Table, useLoad } from "../ui/base";

interface DataSet { name: string; bytes: number; format: string; kind: string; target: string; samples: number; shape: { channels: number; rows: number; cols: number }; vocabulary: { name: string }[]; warnings?: { code: string; text: string }[] }

interface DataSets { datasets: DataSet[]; bytes: number; most_bytes: number; endings: { ending: string; format: string }[] }

/** Uses XMLHttpRequest, because fetch does not report the progress of an upload. */
function upload(file: File, name: string, format: string, sent: (share: number) => void): Promise<void> {
  const request = new XMLHttpRequest();
  return new Promise((done, fail) => {
    request.open("PUT", `/v1/datasets/${encodeURIComponent(name)}?format=${encodeURIComponent(format)}`);
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
  const { data, fault } = useLoad(name, async (signal) => URL.createObjectURL(await (await request(`/v1/datasets/${name}/preview`, { signal })).blob()));
  useEffect(() => () => { if (data) URL.revokeObjectURL(data); }, [data]);
  return <>{data && <img class="preview" src={data} alt={`First samples of ${name}`} />}<Fault fault={fault} /></>;
}

export function DataPage() {
  const { data, fault, reload } = useLoad("datasets", (signal) => get<DataSets>("/v1/datasets", signal));
  const [sent, setSent] = useState<number | null>(null), [failed, setFailed] = useState<unknown>(null), [sure, setSure] = useState("");
  useEffect(() => { document.title = "Data · motifd"; }, []);
  const take = async (input: HTMLInputElement) => {
    const file = input.files![0], ending = file.name.replace(/\.gz$/i, "").split(".").pop()!.toLowerCase();
    setFailed(null);
    setSent(0);
    await upload(file, datasetName(file.name), data!.endings.find((e) => e.ending === ending)?.format ?? ending, setSent).then(reload, setFailed);
    input.value = "";
    setSent(null);
  };
  const remove = (name: string) => send("DELETE", `/v1/datasets/${name}`).then(reload, setFailed);
  return (
    <>
      <div class="page-head"><h1>Data</h1>
        <label class="choice"><span>Upload {data?.endings.filter((e) => e.format !== "bed").map((e) => `.${e.ending}`).join(", ")}</span><input type="file" disabled={sent !== null || !data} onChange={(e) => void take(e.currentTarget as HTMLInputElement)} /></label></div>
      {sent !== null && <Bar value={sent} label="Uploaded" />}
      <Fault fault={failed ?? fault} />
      {data?.datasets.length === 0 && <p class="empty">No data sets yet. Upload a file to train on it.</p>}
      {data?.datasets.map((d) => (
        <Section key={d.name} title={d.name} aside={<div class="tools">{d.kind !== "motifs" && <a class="button primary" href={href("new", { dataset: d.name })}>Train on this<span class="hidden"> {d.name}</span></a>}{sure === d.name && <button type="button" onClick={() => setSure("")}>Keep</button>}<button type="button" class={sure === d.name ? "danger" : ""} onClick={() => (sure === d.name ? void remove(d.name) : setSure(d.name))}>{sure === d.name ? "Delete permanently" : "Delete"}</button></div>}>
          <Table caption={d.name} head={["Kind", "Target", "Samples", "Rows × columns × channels", "Names", "Size"]} words={2}
            rows={[[d.kind, d.target, number(d.samples), [d.shape.rows, d.shape.cols, d.shape.channels].join(" × "), number(d.vocabulary.length), bytes(d.bytes)]]} />
          {(d.warnings ?? []).length > 0 && <ul class="warnings" aria-label={`Warnings about ${d.name}`}>{d.warnings!.map((w) => <li key={w.code}>{w.text}</li>)}</ul>}
          <Preview name={d.name} />
        </Section>
      ))}
      {data && <p class="hint">{bytes(data.bytes)} of {bytes(data.most_bytes)} used. {NAME_RULE}</p>}
    </>
  );
}
