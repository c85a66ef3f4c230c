import { request } from "node:http";

export interface Question {
  /** The path of the socket, or of a link to it. */
  readonly address: string;
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly body?: string;
  readonly version: string;
  /** The id of the process that started the hook. Absent if the caller is not a hook. */
  readonly parent?: number;
  /** The timeout for the connection, in milliseconds (default 1,000). */
  readonly connectMs?: number;
  /** The timeout for the whole request, in milliseconds. Default: no timeout. */
  readonly answerMs?: number;
}

export interface ServerAnswer {
  readonly status: number;
  readonly body: string;
  /** The problem that the hook must report to people; `undefined` if there is none. */
  readonly problem: string | undefined;
}

/**
 * Sends a request to the long-lived process. Resolves to `undefined` if the process does not answer in time. Never
 * rejects.
 */
export function askServer(question: Question): Promise<ServerAnswer | undefined> {
  const { promise, resolve } = Promise.withResolvers<ServerAnswer | undefined>();
  const { address, path, method = "POST", body = "", version, connectMs = 1_000 } = question;
  const headers = {
    host: "chronicle",
    "x-chronicle-version": version,
    "content-length": Buffer.byteLength(body),
    ...(question.parent === undefined ? {} : { "x-chronicle-parent": question.parent }),
  };
  const asked = request({ socketPath: address, path, method, headers, agent: false }, (response) => {
    const pieces: Buffer[] = [];
    response.on("data", (piece: Buffer) => pieces.push(piece));
    response.on("error", () => resolve(undefined));
    response.on("end", () => {
      const problem = response.headers["x-chronicle-problem"];
      resolve({
        status: response.statusCode ?? 0,
        body: Buffer.concat(pieces).toString("utf8"),
        problem: typeof problem === "string" ? decoded(problem) : undefined,
      });
    });
  });
  const timer = setTimeout(() => asked.destroy(), connectMs);
  asked.on("socket", (socket) => socket.on("connect", () => clearTimeout(timer)));
  const patience = question.answerMs === undefined ? undefined : setTimeout(() => asked.destroy(), question.answerMs);
  asked.on("close", () => {
    clearTimeout(timer);
    clearTimeout(patience);
    resolve(undefined);
  });
  asked.on("error", () => resolve(undefined));
  asked.end(body);
  return promise;
}

/** Decodes percent-encoded text. Returns malformed text unchanged, because the answer may come from another program. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return text;
  }
}

/** The time in which a running server must answer a health check, in milliseconds. */
const HEALTH_MS = 2_000;

export interface LivingServer {
  /** True if the process keeps running even when it is idle. A server that a hook started ends when it is idle. */
  readonly stays: boolean;
  /** The process id; 0 if the process does not report it. */
  readonly pid: number;
}

/**
 * Resolves to the server that answers at `address`; `undefined` if no server answers within `answerMs` milliseconds
 * (default 2,000). A server whose version is older than `version` ends itself at this request, and the result is
 * `undefined`.
 */
export async function whoAnswers(
  address: string,
  version: string,
  answerMs = HEALTH_MS,
): Promise<LivingServer | undefined> {
  const answer = await askServer({ address, path: "/healthz", method: "GET", version, answerMs });
  if (answer?.status !== 200) return undefined;
  return { stays: /"stays":true/.test(answer.body), pid: Number(/"pid":(\d+)/.exec(answer.body)?.[1] ?? 0) };
}

export async function isAnswered(address: string, version: string): Promise<boolean> {
  return (await whoAnswers(address, version)) !== undefined;
}
