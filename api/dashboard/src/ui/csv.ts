// Reads the CSV files of a job's charts. Each row has a panel, a series, x, y and a value.
import { request } from "../api";
import type { Grid } from "./canvas";

export function parse(text: string): Record<string, string>[] {
  const rows: string[][] = [];
  let row: string[] = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; }
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "," || c === "\n") {
      row.push(cell);
      cell = "";
      if (c === "\n") { rows.push(row); row = []; }
    } else if (c !== "\r") cell += c;
  }
  if (cell || row.length) rows.push([...row, cell]);
  const head = rows.shift() ?? [];
  return rows.map((r) => Object.fromEntries(head.map((name, i) => [name, r[i] ?? ""])));
}

export async function table(job: string, name: string, signal?: AbortSignal): Promise<Record<string, string>[]> {
  return parse(await (await request(`/v1/jobs/${job}/artifacts/${name}`, { signal })).text());
}

/** Puts rows with x, y and value into a grid. */
export function grid(rows: Record<string, string>[]): Grid {
  const cols = Math.max(...rows.map((r) => Number(r.x))) + 1, lines = Math.max(...rows.map((r) => Number(r.y))) + 1;
  const values = new Float32Array(cols * lines);
  for (const r of rows) values[Number(r.y) * cols + Number(r.x)] = Number(r.value);
  return { rows: lines, cols, values };
}
