// What changes a job: each asks first, and tells what came of it.
import { finished, jobPath, send } from "./api.js";
import { confirm, toast } from "./dialog.js";

const DIRECTORY = { name: "directory", label: "Directory (empty: the configured one)", placeholder: "s3://bucket/savepoints or /path" };

export async function cancelJob(job, refresh) {
  const sure = await confirm({
    title: `Cancel “${job.name}”?`, action: "Cancel job", danger: true,
    text: "The job ends now, without a savepoint. What it has committed stays; what it was working on is given up.",
  });
  if (sure) await attempt(() => send("PATCH", `${jobPath(job.jid)}?mode=cancel`), `“${job.name}” is being cancelled.`, refresh);
}

export async function savepointOf(job, refresh) {
  const answer = await confirm({
    title: `Savepoint of “${job.name}”`, action: "Take savepoint", fields: [DIRECTORY],
    text: "It is written between two epochs; the job goes on.",
  });
  if (answer) await savepoint(job, "savepoints", { "target-directory": answer.directory || null, "cancel-job": false }, refresh);
}

export async function stopJob(job, refresh) {
  const answer = await confirm({
    title: `Stop “${job.name}”?`, action: "Stop with savepoint", danger: true,
    fields: [DIRECTORY, { name: "drain", kind: "checkbox", label: "Drain: let event time run to its end, so that all windows fire" }],
    text: "A savepoint is written, and the job ends there. It can go on from it later.",
  });
  if (answer) await savepoint(job, "stop", { targetDirectory: answer.directory || null, drain: Boolean(answer.drain) }, refresh);
}

async function savepoint(job, verb, body, refresh) {
  await attempt(async () => {
    const { "request-id": id } = await send("POST", jobPath(job.jid, verb), body);
    toast("Writing a savepoint…");
    const done = await finished(jobPath(job.jid, "savepoints", id));
    toast(`Savepoint: ${done.location}`, "good");
  }, null, refresh);
}

async function attempt(action, told, refresh) {
  try {
    await action();
    if (told) toast(told, "good");
  } catch (error) {
    toast(error.message, "error");
  }
  refresh();
}
