// The configuration of a job, by group. Fields whose value the user or the preset changed are highlighted and come first.
import { useState } from "preact/hooks";
import { applies, type Field, type Job, type Json, type Kind } from "../api";
import { Section, Table } from "../ui/base";

interface Row { name: string; field: Field | undefined; value: Json; preset: Json | undefined; usual: Json | undefined }

const text = (value: Json | undefined, field?: Field): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : value === "" ? "none" : `${String(value)}${field?.unit ? ` ${field.unit}` : ""}`;

/** Where a value comes from, compared with the preset and with the defaults of the kind. */
function origin(row: Row): preact.JSX.Element | null {
  if (row.preset !== undefined && row.value !== row.preset) return <mark>set for this job; the preset has {text(row.preset, row.field)}</mark>;
  if (row.preset === undefined && row.usual !== undefined && row.value !== row.usual) return <mark>set for this job; the default is {text(row.usual, row.field)}</mark>;
  return row.usual !== undefined && row.value !== row.usual ? <span class="muted">from the preset; the default is {text(row.usual, row.field)}</span> : null;
}

const ofJob = (row: Row) => row.value !== (row.preset ?? row.usual ?? row.value);

function Values({ title, rows }: { title: string; rows: Row[] }) {
  return (
    <Section title={title}>
      <Table caption={title} words={4} head={["Field", "Value", "Origin", "Meaning"]} rows={rows.map((row) => [ofJob(row) ? <strong>{row.name}</strong> : row.name, <span class="value">{text(row.value, row.field)}</span>, origin(row), <span class="meaning-cell">{row.field?.meaning}</span>])} />
    </Section>
  );
}

export function Configuration({ job, kind }: { job: Job; kind: Kind | undefined }) {
  const [all, setAll] = useState(false);
  const preset = kind?.presets.find((p) => p.name === job.preset), known = new Map(kind?.fields.map((f) => [f.name, f]));
  const rows = Object.entries(job.config).map(([name, value]): Row => ({ name, value, field: known.get(name), preset: preset?.config[name], usual: known.get(name)?.default }))
    .filter((row) => !row.field || applies(row.field, (name) => job.config[name] ?? job.facts?.[name]));
  const facts = (kind?.facts ?? []).filter((f) => job.facts?.[f.name] !== undefined);
  const changed = rows.filter(ofJob), rest = rows.filter((row) => !ofJob(row)), hidden = rest.filter((row) => row.field?.level === "research");
  const shown = rest.filter((row) => all || !hidden.includes(row));
  return (
    <>
      <p class="muted">{changed.length} of {rows.length} fields differ from {job.preset ? `the preset ${job.preset}` : "the defaults"}.</p>
      {changed.length > 0 && <Values title="Set for this job" rows={changed} />}
      {[...new Set(shown.map((row) => row.field?.group ?? "other"))].map((group) => (
        <Values key={group} title={group[0].toUpperCase() + group.slice(1)} rows={shown.filter((row) => (row.field?.group ?? "other") === group)} />
      ))}
      {facts.length > 0 && <Section title="Facts of the data set"><Table caption="Facts of the data set" words={3} head={["Fact", "Value", "Meaning"]} rows={facts.map((f) => [f.name, <span class="value">{text(job.facts![f.name], f)}</span>, <span class="meaning-cell">{f.meaning}</span>])} /></Section>}
      {hidden.length > 0 && !all && <p><button type="button" onClick={() => setAll(true)}>{hidden.length} fields for research</button></p>}
    </>
  );
}
