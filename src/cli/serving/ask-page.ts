import { setTimeout } from "node:timers/promises";
import { problemError } from "../../client/wire.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { askServer, type ServerAnswer } from "../../daemon/ask-server.ts";
import { mayBeSandboxed } from "../../daemon/command-call.ts";
import { launcherPath } from "../../daemon/program-paths.ts";
import { isOwnAddress, makeRunFolder, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { PAGE_OPEN_PATH } from "../../daemon/served-page.ts";
import { startServer } from "../../daemon/start-server.ts";

/** The time, in milliseconds, within which the store's process must offer the page. */
const START_MS = 30_000;
/** The interval, in milliseconds, at which the process is asked for the page. */
const AGAIN_MS = 50;
/**
 * The minimum time, in milliseconds, between two starts of the process. If another program has started the process
 * within this time, this program waits for that process.
 */
const START_AGAIN_MS = 5_000;
/** The time, in milliseconds, within which a process of another version of Chronicle must have ended. */
const LEAVE_MS = 5_000;
/** The time, in milliseconds, within which the process must answer a request. */
const ANSWER_MS = 10_000;

interface AskedPage {
  readonly disk: Disk;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The port on which the page is wanted; `undefined` for any. */
  readonly port: number | undefined;
}

/**
 * Asks the store's process for the page's address, which has a new code. Starts the process if there is none. A process
 * of an older version ends at the request, and is replaced. Throws the error with which the process answers, and
 * `UNAVAILABLE` if no process answers in time.
 */
export async function askPage({ disk, home, env, version, port }: AskedPage): Promise<string> {
  const uid = ownUid();
  const run = runFolder(disk, { env, home, uid });
  makeRunFolder(disk, run, uid);
  const question = { address: run.address, path: PAGE_OPEN_PATH, version, body: JSON.stringify({ port }) };
  const begun = performance.now();
  for (;;) {
    const answer = isOwnAddress(disk, run, uid) ? await askServer({ ...question, answerMs: ANSWER_MS }) : undefined;
    const passed = performance.now() - begun;
    if (answer?.status === 200) return (JSON.parse(answer.body) as { readonly url: string }).url;
    if (answer === undefined) {
      refuseSandbox(disk);
      startServer(disk, { run, home, launcher: launcherPath(), env, againMs: START_AGAIN_MS });
    } else if (!isLeaving(answer, passed)) {
      throw answer.status === 404 ? olderProgram() : problemError(answer.status, answer.body);
    }
    if (passed > START_MS) throw notAnswered();
    await setTimeout(AGAIN_MS);
  }
}

/**
 * Returns true if the process that answered is about to end, and can then be replaced. A process of an older Chronicle
 * that has no page answers 404. Such a process ends by itself if the files of its program were replaced.
 */
function isLeaving({ status }: ServerAnswer, passedMs: number): boolean {
  return status === 426 || status === 503 || (status === 404 && passedMs < LEAVE_MS);
}

/**
 * Throws `UNAVAILABLE` if this process may be in a sandbox. The store's process would have the rights of the sandbox,
 * but commands from outside of the sandbox would ask the store's process, too.
 */
function refuseSandbox(disk: Disk): void {
  if (!mayBeSandboxed(disk)) return;
  throw new ChronicleError("UNAVAILABLE", "no process serves this store, and a sandbox must not start it", {
    hint: "run `chronicle ui` in a terminal outside of the sandbox",
  });
}

function olderProgram(): ChronicleError {
  return new ChronicleError("REFUSED", "the process that serves this store runs another program, which has no page", {
    hint: "end that process (`chronicle serve --idle 1` names it), then run `chronicle ui` again",
  });
}

function notAnswered(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `the store's process did not answer within ${START_MS / 1_000} seconds`, {
    hint: "`chronicle doctor` shows its diagnostics; `chronicle serve --ui` in a terminal says why it does not start",
  });
}
