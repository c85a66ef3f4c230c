import { connect } from "node:net";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import {
  type Asked,
  COMMAND_ENDED_PATH,
  COMMAND_PATH,
  type CommandAnswer,
  type CommandCall,
  decodeAnswer,
  type RunReport,
} from "../../daemon/command-call.ts";
import { isOwnAddress, ownUid } from "../../daemon/run-folder.ts";
import type { Disk } from "../../disk/disk.ts";

/** The interval at which a process that has not answered yet is asked whether it is alive, in milliseconds. */
const LOOK_MS = 1_000;
/** The time in which the process must answer the question whether it is alive, in milliseconds. */
const HEALTH_MS = 2_000;
/**
 * Like `HEALTH_MS`, but at the end of a run. It is longer, because recording many changes can take long, and without an
 * answer the asking process would record them once more.
 */
const END_HEALTH_MS = 20_000;

/** An answer of a process that has accepted the command. */
export type Answered = Exclude<CommandAnswer, { readonly direct: string }>;

/**
 * Asks the long-lived process of the store in `home` to carry out a command. Resolves to its answer, or to the reason
 * why this process must do the command itself. Never rejects.
 */
export async function askProcess(disk: Disk, home: string, call: CommandCall): Promise<Asked | Answered> {
  const address = join(home, "run", "serve.sock");
  try {
    if (disk.lstat(address) === undefined) return { state: "missing", home };
    const run = { folder: join(home, "run"), address, socket: address };
    if (!isOwnAddress(disk, run, ownUid())) return { state: "direct" };
  } catch {
    // The whole program reports what is wrong with the store.
    return { state: "direct" };
  }
  const reply = await post(address, COMMAND_PATH, JSON.stringify(call));
  if (reply === "unreachable") return { state: "missing", home };
  if (reply === "lost") return { state: "lost", home, request: call.request };
  // A reply with another status than 200, as after an unexpected error, may come after a change. `isBegun` keeps the
  // request's id, so that the change is not made twice.
  const answer = reply.status === 200 ? decodeAnswer(reply.body) : { direct: "no answer", isBegun: true };
  if (!("direct" in answer)) return answer;
  return answer.isBegun === true ? { state: "direct", request: call.request } : { state: "direct" };
}

/**
 * Reports the end of the command of a run. Returns `undefined` if the process does not answer or does not know the run.
 * Never rejects.
 */
export async function reportEnd(home: string, report: RunReport): Promise<Answered | undefined> {
  const reply = await post(join(home, "run", "serve.sock"), COMMAND_ENDED_PATH, JSON.stringify(report), END_HEALTH_MS);
  const answer = typeof reply === "object" && reply.status === 200 ? decodeAnswer(reply.body) : undefined;
  return answer === undefined || "direct" in answer ? undefined : answer;
}

interface Reply {
  readonly status: number;
  readonly body: Uint8Array;
}

/**
 * Sends a request over a socket, without `node:http`, which would take longer to load than the answer takes. Resolves
 * to the reply, or to `unreachable` or `lost`. `unreachable`: nobody has received the request. `lost`: the process may
 * have carried out the request, but has not answered.
 */
function post(
  address: string,
  path: string,
  body: string,
  healthMs = HEALTH_MS,
): Promise<Reply | "unreachable" | "lost"> {
  const { promise, resolve } = Promise.withResolvers<Reply | "unreachable" | "lost">();
  const pieces: Buffer[] = [];
  let isConnected = false;
  const socket = connect(address, () => {
    isConnected = true;
    socket.write(requestOf("POST", path, body));
  });
  const timer = setInterval(() => {
    void isHealthy(address, healthMs).then((isThere) => isThere || socket.destroy());
  }, LOOK_MS);
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    clearInterval(timer);
    resolve(replyIn(Buffer.concat(pieces)) ?? (isConnected ? "lost" : "unreachable"));
  });
  return promise;
}

function isHealthy(address: string, withinMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(address, () => socket.write(requestOf("GET", "/healthz", "")));
  socket.setTimeout(withinMs, () => socket.destroy());
  socket.on("data", () => {
    resolve(true);
    socket.destroy();
  });
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(false));
  return promise;
}

function requestOf(method: string, path: string, body: string): string {
  const length = Buffer.byteLength(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
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
