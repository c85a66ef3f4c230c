import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RecorderShape, RecordingShape } from "../../api/shapes.ts";
import type { DoctorCheck } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { CommandContext } from "../support/context.ts";
import { recordingLine } from "../render/recording.ts";
import { recordingHere } from "./recording-here.ts";

const NAME = "recording";
/**
 * The time, in milliseconds, within which the trial file must be recorded. A busy recorder pauses for up to 10 seconds.
 */
const PATIENCE_MS = 15_000;
/** The time, in milliseconds, between two looks at the history. */
const LOOK_MS = 25;
const CONTENT = "`chronicle doctor` makes this file to see whether it is recorded, and removes it again.\n";

/**
 * Returns the check of whether the current folder is recorded at present. If a process says that it records everything,
 * the check proves this: it makes a trial file in the folder, and waits until the history has the file. Returns no
 * check with `--remote`, or if the current folder has no workspace that can be opened. `patienceMs`: the time, in
 * milliseconds, within which the trial file must be recorded.
 */
export async function recordingChecks(context: CommandContext, patienceMs = PATIENCE_MS): Promise<DoctorCheck[]> {
  if (context.remote !== undefined) return [];
  try {
    const workspace = await context.reading();
    return [await checkOf(context, workspace, patienceMs)];
  } catch (error) {
    // Another check reports a history that cannot be opened.
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}

async function checkOf(context: CommandContext, workspace: WorkspaceApi, patienceMs: number): Promise<DoctorCheck> {
  const shape = await recordingHere(context, workspace);
  const paint = (_: unknown, text: string): string => text;
  const line = recordingLine(shape, { paint, worded: (text) => text, now: context.io.now(), isRemote: false });
  if (shape.state === "nothing") return nothingCheck(shape, line);
  const who = line.slice("recording: ".length);
  if (shape.state === "tool_calls") return { name: NAME, ok: true, detail: who };
  const obstacle = await trialObstacle(context, workspace, shape);
  if (obstacle !== undefined) return { name: NAME, ok: true, detail: `${who}; not tried: ${obstacle}` };
  return trialCheck(context, workspace, { who, by: recorders(shape), patienceMs });
}

function recorders({ by }: RecordingShape): RecorderShape[] {
  return by.filter(({ kind, trouble }) => kind !== "agent" && trouble === undefined);
}

/**
 * Returns the check for the state `nothing`. The check succeeds if nothing was started to record the folder. It fails
 * if a recorder was started but does not record.
 */
function nothingCheck({ by, reason, hint }: RecordingShape, line: string): DoctorCheck {
  if (by.length === 0) return { name: NAME, ok: true, detail: line };
  return { name: NAME, ok: false, detail: `NOT RECORDING: ${reason}`, hint: hint ?? "`chronicle watch`" };
}

/** Returns the reason why no trial file is made; `undefined` if a trial file can be made. */
async function trialObstacle(
  context: CommandContext,
  workspace: WorkspaceApi,
  shape: RecordingShape,
): Promise<string | undefined> {
  const kinds = new Set(recorders(shape).map(({ kind }) => kind));
  if (kinds.has("writes")) return "a write is answered only once it is recorded";
  if (kinds.has("run")) return "the trial would count as a change of the run";
  if (kinds.has("sync")) return "the trial would be sent to the origin; `chronicle sync flush` tries the sync";
  if (await context.isAgent()) return "only a person may try it";
  if (((await workspace.owners?.()) ?? []).length > 0) return "the trial could count as a change of the open work";
  return undefined;
}

interface Trial {
  /** A text that says who records. */
  readonly who: string;
  readonly by: readonly RecorderShape[];
  readonly patienceMs: number;
}

async function trialCheck(context: CommandContext, workspace: WorkspaceApi, trial: Trial): Promise<DoctorCheck> {
  const name = `.chronicle-doctor-${randomBytes(4).toString("hex")}`;
  const verdict = await workspace.explain(name);
  if (!verdict.tracked) {
    return { name: NAME, ok: true, detail: `${trial.who}; not tried: a rule leaves out new files (${verdict.rule})` };
  }
  try {
    return await tryFile(context, { workspace, name, trial });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return {
      name: NAME,
      ok: false,
      detail: `${trial.who}; this could not be tried, because no file can be made in ${workspace.path} (${errno})`,
      hint: "look at the folder's permissions and the free space, and try again",
    };
  }
}

interface TrialFile {
  readonly workspace: WorkspaceApi;
  readonly name: string;
  readonly trial: Trial;
}

async function tryFile(context: CommandContext, { workspace, name, trial }: TrialFile): Promise<DoctorCheck> {
  const path = join(workspace.path, name);
  const remove = (): void => removeTrial(path);
  const endInterrupt = context.io.onInterrupt(() => {
    remove();
    process.exit(130);
  });
  try {
    const from = performance.now();
    makeTrial(path);
    const isRecorded = await untilIterations(workspace, { name, count: 1, ms: trial.patienceMs });
    const seconds = ((performance.now() - from) / 1000).toFixed(1);
    remove();
    if (!isRecorded) return notRecorded(trial, `an edit was not recorded within ${seconds} s`);
    if (!(await untilIterations(workspace, { name, count: 2, ms: trial.patienceMs }))) {
      return notRecorded(trial, "an edit was recorded, but not its removal");
    }
    const detail = `${trial.who}; an edit was recorded after ${seconds} s (${name} was made and removed again: two lines of the log name it)`;
    return { name: NAME, ok: true, detail };
  } finally {
    remove();
    endInterrupt();
  }
}

function notRecorded({ who, by }: Trial, what: string): DoctorCheck {
  const pids = by.flatMap(({ pid }) => (pid === null ? [] : [pid]));
  const stop = pids.length === 0 ? "" : `end it (kill ${pids.join(" ")}), then `;
  return {
    name: NAME,
    ok: false,
    detail: `${who}, but ${what}`,
    hint: `${stop}start it again: \`chronicle watch\`; until then, \`chronicle snapshot\` records what has changed`,
  };
}

function makeTrial(path: string): void {
  const disk = new NodeDisk();
  const fd = disk.open(path, "create", 0o600);
  try {
    writeFully(disk, fd, Buffer.from(CONTENT), null);
  } finally {
    disk.close(fd);
  }
}

/** Removes the trial file if it exists. */
function removeTrial(path: string): void {
  try {
    new NodeDisk().unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** Resolves to true once the path has `count` iterations, or to false after `ms` milliseconds. */
async function untilIterations(
  workspace: WorkspaceApi,
  { name, count, ms }: { readonly name: string; readonly count: number; readonly ms: number },
): Promise<boolean> {
  const until = performance.now() + ms;
  for (;;) {
    const found = await workspace.history(name).catch((error: unknown) => {
      if (error instanceof ChronicleError && error.code === "NOT_FOUND") return [];
      throw error;
    });
    if (found.length >= count) return true;
    if (performance.now() > until) return false;
    await sleep(LOOK_MS);
  }
}
