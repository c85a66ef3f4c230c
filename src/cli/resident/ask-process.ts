import { connect } from "node:net";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import {
  type Asked,
  COMMAND_ENDED_PATH,
  COMMAND_PATH,
  COMMAND_PROGRESS_PATH,
  type CommandAnswer,
  type CommandCall,
  decodeAnswer,
  type RunReport,
} from "../../daemon/command-call.ts";
import { isOwnAddress, ownUid } from "../../daemon/run-folder.ts";
import type { Disk } from "../../disk/disk.ts";

/**
 * The time, in milliseconds, after which a process that has not answered is asked for the progress of the command. The
 * answer also shows that the process is alive. If the progress is not shown, the question is repeated at this interval.
 */
const LOOK_MS = 1_000;
/** The interval, in milliseconds, at which the question is repeated if the progress is shown. */
const SHOW_MS = 250;
/** The time, in milliseconds, within which the process must answer the question about the progress. */
const HEALTH_MS = 3_000;
/**
 * The time, in milliseconds, within which the process must answer the same question at the end of a run. This time is
 * longer, because recording many changes can take long. Without an answer, the asking process would record the changes
 * once more.
 */
const END_HEALTH_MS = 20_000;

/** An answer of a process that has accepted the command. */
export type Answered = Exclude<CommandAnswer, { readonly direct: string }>;

/** Shows the progress of a command that the process carries out. */
export type ShowProgress = (text: string) => void;

/**
 * Asks the long-lived process of the store in `home` to carry out a command. Resolves to the answer of that process, or
 * to the reason why this process must carry out the command itself. Never rejects.
 */
export async function askProcess(
  disk: Disk,
  home: string,
  call: CommandCall,
  show?: ShowProgress,
): Promise<Asked | Answered> {
  const address = join(home, "run", "serve.sock");
  try {
    if (disk.lstat(address) === undefined) return { state: "missing", home };
    const run = { folder: join(home, "run"), address, socket: address };
    if (!isOwnAddress(disk, run, ownUid())) return { state: "direct" };
  } catch {
    // The whole program reports the problem of the store.
    return { state: "direct" };
  }
  const { request } = call;
  const reply = await post(address, COMMAND_PATH, { body: JSON.stringify(call), request, show });
  if (reply === "unreachable") return { state: "missing", home };
  if (reply === "lost") return { state: "lost", home, request };
  // The process may have made a change even if its reply is no valid answer, for example after an unexpected error.
  // `isBegun` keeps the request's id, so that the change is not made twice.
  const answer = answerIn(reply) ?? { direct: "no answer", isBegun: true };
  if (!("direct" in answer)) return answer;
  return answer.isBegun === true ? { state: "direct", request } : { state: "direct" };
}

/**
 * Reports the end of the command of a run. `request`: the id of the request that ordered the command. Resolves to
 * `undefined` if the process does not answer or does not know the run. Never rejects.
 */
export async function reportEnd(
  home: string,
  report: RunReport,
  { request, show }: Pick<Post, "request" | "show">,
): Promise<Answered | undefined> {
  const address = join(home, "run", "serve.sock");
  const body = JSON.stringify(report);
  const reply = await post(address, COMMAND_ENDED_PATH, { body, request, show, healthMs: END_HEALTH_MS });
  const answer = typeof reply === "object" ? answerIn(reply) : undefined;
  return answer === undefined || "direct" in answer ? undefined : answer;
}

interface Reply {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Returns the answer in a reply; `undefined` if the reply is no valid answer. */
function answerIn({ status, body }: Reply): CommandAnswer | undefined {
  if (status !== 200) return undefined;
  try {
    return decodeAnswer(body);
  } catch {
    return undefined;
  }
}

interface Post {
  readonly body: string;
  /** The id of the command's request. */
  readonly request: string;
  readonly show: ShowProgress | undefined;
  /**
   * The time, in milliseconds, within which the process must answer a question about the progress (default:
   * `HEALTH_MS`).
   */
  readonly healthMs?: number;
}

/**
 * Sends a request over a socket, without `node:http`, because that module takes longer to load than the answer takes.
 * Resolves to the reply, or to `unreachable` or `lost`. `unreachable`: nobody has received the request. `lost`: the
 * process may have carried out the request, but has not answered.
 */
function post(
  address: string,
  path: string,
  { body, request, show, healthMs = HEALTH_MS }: Post,
): Promise<Reply | "unreachable" | "lost"> {
  const { promise, resolve } = Promise.withResolvers<Reply | "unreachable" | "lost">();
  const pieces: Buffer[] = [];
  const over = new AbortController();
  let isConnected = false;
  const socket = connect(address, () => {
    isConnected = true;
    socket.write(requestOf(path, body));
  });
  let timer = setTimeout(() => void look(), LOOK_MS);
  const look = async (): Promise<void> => {
    const progress = await progressOf(address, request, { withinMs: healthMs, signal: over.signal });
    if (socket.destroyed) return;
    if (progress === undefined) return void socket.destroy();
    if (progress !== "") show?.(progress);
    timer = setTimeout(() => void look(), show === undefined ? LOOK_MS : SHOW_MS);
  };
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    clearTimeout(timer);
    over.abort();
    resolve(replyIn(Buffer.concat(pieces)) ?? (isConnected ? "lost" : "unreachable"));
  });
  return promise;
}

/**
 * Resolves to the progress of the command; empty if there is none. Resolves to `undefined` if the process does not
 * answer in time.
 */
function progressOf(
  address: string,
  request: string,
  { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const pieces: Buffer[] = [];
  const socket = connect({ path: address, signal }, () => socket.write(requestOf(COMMAND_PROGRESS_PATH, request)));
  socket.setTimeout(withinMs, () => socket.destroy());
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    const reply = replyIn(Buffer.concat(pieces));
    const text = reply?.status === 200 ? Buffer.from(reply.body).toString("utf8") : "";
    resolve(pieces.length === 0 ? undefined : text);
  });
  return promise;
}

function requestOf(path: string, body: string): string {
  const length = Buffer.byteLength(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: chronicle",
    "connection: close",
    `x-chronicle-version: ${packageJson.version}`,
    `content-length: ${length}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Parses a reply. Returns `undefined` for an incomplete reply. */
function replyIn(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
  const body = bytes.subarray(end + 4);
  return body.length === length ? { status, body } : undefined;
}
