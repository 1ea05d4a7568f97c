// This script is inside the HTML. If the address names a job, it sends the job page's first requests while the main script still loads.
// request() in api.ts uses the answers.
import { FIRST_NAMES, metricsPath, POINTS } from "./first";

const [, id, more] = /^#\/jobs\/([0-9A-Z]{26})(.*)/.exec(location.hash) ?? [];
if (id) {
  const token = sessionStorage.getItem("motifd-token"), early: Record<string, Promise<Response>> = {};
  const begin = (path: string) => {
    early[path] = fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    early[path].catch(() => undefined); // request() reports the failure
  };
  begin(`/v1/jobs/${id}`);
  if (!more && FIRST_NAMES.length) begin(metricsPath(id, { names: FIRST_NAMES, points: POINTS }));
  Object.assign(window, { early });
}
