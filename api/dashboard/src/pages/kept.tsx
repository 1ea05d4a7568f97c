// When a policy of retention deletes a job, with a button that pins it.
import { send, type Job } from "../api";

function when(job: Job): string {
  const days = (Date.parse(job.expires_at!) - Date.now()) / 86400000;
  return days < 0 ? "Deleted soon by a policy" : days < 1 ? "Deleted today by a policy" : `Deleted in ${Math.round(days)} day${Math.round(days) === 1 ? "" : "s"} by a policy`;
}

export function Kept({ job, changed, fail }: { job: Job; changed: () => void; fail: (fault: unknown) => void }) {
  const pin = () => void send("PATCH", `/v1/jobs/${job.id}`, { pinned: !job.pinned }).then(changed, fail);
  return (
    <p class="muted" title={job.expires_at ?? undefined}>
      {job.pinned ? "Pinned: no policy deletes this job." : `${when(job)}, unless somebody uses it.`} <button type="button" onClick={pin}>{job.pinned ? "Unpin" : "Pin"}</button>
    </p>
  );
}
