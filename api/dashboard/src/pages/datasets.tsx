// Data sets of the user's own: upload, look, delete.
import { useEffect, useState } from "preact/hooks";
import { ask, get, headers, Problem, send } from "../api";
import { bytes, number } from "../format";
import { Bar, Fault, Section, Table, useLoad } from "../ui/base";

interface DataSet { name: string; bytes: number; format: string; kind: string; target: string; samples: number; shape: { channels: number; rows: number; cols: number }; vocabulary: { name: string }[] }

const FORMATS: Record<string, string> = { tsv: "csv", fa: "fasta" };

/** fetch does not tell how much has been sent. */
function upload(file: File, name: string, sent: (share: number) => void): Promise<void> {
  const ending = file.name.split(".").pop()!.toLowerCase(), request = new XMLHttpRequest();
  return new Promise((done, fail) => {
    request.open("PUT", `/v1/datasets/${encodeURIComponent(name)}?format=${FORMATS[ending] ?? ending}`);
    for (const [key, value] of Object.entries(headers())) request.setRequestHeader(key, value);
    request.upload.onprogress = (e) => sent(e.loaded / e.total);
    request.onerror = () => fail(new Problem(0, "No answer", "The upload broke off."));
    request.onload = () => {
      if (request.status < 300) return done();
      const said = JSON.parse(request.responseText);
      fail(new Problem(request.status, said.title, said.detail, said.errors));
    };
    request.send(file);
  });
}

function Preview({ name }: { name: string }) {
  const { data, fault } = useLoad(name, async (signal) => URL.createObjectURL(await (await ask(`/v1/datasets/${name}/preview`, { signal })).blob()));
  useEffect(() => () => { if (data) URL.revokeObjectURL(data); }, [data]);
  return <>{data && <img class="preview" src={data} alt={`First samples of ${name}`} />}<Fault fault={fault} /></>;
}

export function DataPage() {
  const { data, fault, reload } = useLoad("datasets", (signal) => get<{ datasets: DataSet[]; bytes: number; most_bytes: number }>("/v1/datasets", signal));
  const [sent, setSent] = useState<number | null>(null), [failed, setFailed] = useState<unknown>(null), [sure, setSure] = useState("");
  useEffect(() => { document.title = "Data · motifd"; }, []);
  const take = async (input: HTMLInputElement) => {
    const file = input.files![0];
    setFailed(null);
    setSent(0);
    await upload(file, file.name.split(".")[0], setSent).then(reload, setFailed);
    input.value = "";
    setSent(null);
  };
  const remove = (name: string) => send("DELETE", `/v1/datasets/${name}`).then(reload, setFailed);
  return (
    <>
      <div class="page-head"><h1>Data</h1>
        <label class="choice"><span>Upload .npz, .npy, .csv, .tsv, .tar or .fa</span><input type="file" disabled={sent !== null} onChange={(e) => void take(e.currentTarget as HTMLInputElement)} /></label></div>
      {sent !== null && <Bar value={sent} label="Uploaded" />}
      <Fault fault={failed ?? fault} />
      {data?.datasets.length === 0 && <p class="empty">Nothing here yet. A file's name becomes the name of the data set; jobs of the preset <code>dataset</code> train on it.</p>}
      {data?.datasets.map((d) => (
        <Section key={d.name} title={d.name} aside={<button type="button" class={sure === d.name ? "danger" : ""} onClick={() => (sure === d.name ? void remove(d.name) : setSure(d.name))}>{sure === d.name ? "Delete for good" : "Delete"}</button>}>
          <Table caption={d.name} head={["Holds", "Target", "Samples", "Rows × columns × channels", "Names", "Size"]} words={2}
            rows={[[d.kind, d.target, number(d.samples), [d.shape.rows, d.shape.cols, d.shape.channels].join(" × "), number(d.vocabulary.length), bytes(d.bytes)]]} />
          <Preview name={d.name} />
        </Section>
      ))}
      {data && <p class="hint">{bytes(data.bytes)} of {bytes(data.most_bytes)} used.</p>}
    </>
  );
}
