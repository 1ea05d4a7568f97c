// Stands in the page itself: what a job's address will ask the daemon for is asked while the script is still on its way. ask() in api.ts
// takes the answers up.
import { FIRST_NAMES, metricsPath, POINTS } from "./first";

const [, id, more] = /^#\/jobs\/([0-9A-Z]{26})(.*)/.exec(location.hash) ?? [];
if (id) {
  const token = sessionStorage.getItem("motifd-token"), early: Record<string, Promise<Response>> = {};
  const begin = (path: string) => {
    early[path] = fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    early[path].catch(() => undefined); // the reader of the promise handles the fault
  };
  begin(`/v1/jobs/${id}`);
  if (!more && FIRST_NAMES.length) begin(metricsPath(id, { names: FIRST_NAMES, points: POINTS }));
  Object.assign(window, { early });
}
