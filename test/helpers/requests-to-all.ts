import { request } from "node:http";
import { basename } from "node:path";
import type { Serving } from "../server/serving.ts";

/** The request of an operation. `bytes`: a body that is not JSON. */
interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly bytes?: string;
}

/** The workspace, work, paths and contents that the requests name. */
interface About {
  /** `/v1/workspaces/ID` */
  readonly base: string;
  readonly ids: { readonly action: string; readonly conflict: string };
  readonly paths: readonly string[];
  readonly hashes: readonly string[];
}

export type EachRequest = Readonly<Record<string, readonly Asked[]>>;

/**
 * Returns requests to each operation that readers or agents may call. A test compares the names with the table of
 * routes.
 */
export function requestsToAll({ base, ids, paths, hashes }: About): EachRequest {
  const get = (...all: readonly string[]): Asked[] => all.map((path) => ({ path: `${base}${path}` }));
  const post = (path: string, ...bodies: readonly unknown[]): Asked[] =>
    bodies.map((body) => ({ path: `${base}${path}`, body }));
  const files = paths.map((path) => encodeURIComponent(path));
  return {
    me: [{ path: "/v1/me" }],
    listWorkspaces: [{ path: "/v1/workspaces" }],
    getWorkspace: get(""),
    listMarks: get("/marks"),
    changeMarks: post("/marks", { add: paths.map((path) => ({ path, before_hash: "", after_hash: "" })) }),
    listFiles: get("/files", "/files?at=baseline", "/files?path=deep"),
    describeFile: files.flatMap((path) => get(`/file?path=${path}`, `/file?path=${path}&iteration=1`)),
    fileHistory: paths.flatMap((path) =>
      get(`/files/${path}/history`, `/files/${path}/history?as=file`, `/files/${path}/history?patch=true`),
    ),
    fileAtIteration: paths.flatMap((path) =>
      get(`/files/${path}/at/1`, `/files/${path}/at/2`, `/files/${path}/at/last`),
    ),
    readFile: paths.flatMap((path) => get(`/files/${path}`, `/files/${path}?at=latest`, `/files/${path}?fresh=true`)),
    blame: files.flatMap((path) => get(`/blame?path=${path}`, `/blame?path=${path}&at=baseline`)),
    textHistory: get("/text-history?text=TOKEN", ...files.map((path) => `/text-history?text=O&path=${path}`)),
    grep: get(
      "/grep?pattern=TOKEN",
      "/grep?pattern=O&history=true",
      ...files.map((path) => `/grep?pattern=O&fixed=true&files_only=true&ignore_case=true&path=${path}`),
    ),
    putFile: paths.map((path) => ({ path: `${base}/files/${path}`, bytes: "TOKEN=new\n" })),
    makeFolder: [{ path: `${base}/folders/made`, bytes: "" }],
    deleteFile: [{ path: `${base}/files/never` }],
    moveFile: post("/move", ...paths.map((from) => ({ from, to: `${from.length}.txt` }))),
    describeBlob: hashes.flatMap((hash) => get(`/blob?hash=${hash}`)),
    readBlob: hashes.flatMap((hash) => get(`/blobs/${hash}`)),
    followEvents: get("/events?after=0"),
    followHead: get("/head-changes"),
    status: get("/status"),
    head: get("/head"),
    signing: get("/signing"),
    recording: get("/recording"),
    log: get("/log", "/log?reverse=true", "/log?prefix=conflict:", "/log?prefix=intent:"),
    listSnapshots: get("/snapshots"),
    takeSnapshot: post("/snapshots", {}),
    capture: post("/captures", { paths }),
    manifest: get("/manifest?moment=baseline", "/manifest?moment=latest"),
    diff: get(
      "/diff?from=baseline&to=latest&patch=true",
      "/diff?from=baseline&to=now&patch=true",
      `/diff?from=latest&to=baseline&patch=true&path=${files[0]}`,
    ),
    find: get(...paths.map((path) => `/find?name=${basename(path)}`)),
    explain: files.flatMap((path) => get(`/explain?path=${path}`)),
    restore: post("/restore", { moment: "baseline", dryRun: true }, { moment: "baseline" }),
    undo: post("/undo", { dryRun: true }, {}),
    redo: post("/redo", { dryRun: true }, {}),
    rollback: post(`/actions/${ids.action}/rollback`, { dryRun: true }),
    listOperations: get("/operations"),
    recent: get("/recent", "/recent?after=1"),
    ticks: get("/ticks", "/ticks?reverse=true"),
    changes: get(
      ...["session=s1", "actor=operator", "actor=human", "since=baseline", `file=${files[0]}`].map(
        (one) => `/changes?patch=true&${one}`,
      ),
    ),
    listSessions: get("/sessions"),
    startSession: post("/sessions", {}),
    getSession: get("/sessions/s1"),
    endSession: post("/sessions/s1/end", {}),
    startTurn: post("/turns", { session: "s1", turn: "t9", prompt: "about a secret" }),
    listTurns: get("/turns", "/turns?session=s1"),
    listActions: get("/actions"),
    beginAction: post("/actions", { type: "write_file", payload: { path: paths[0] } }),
    getAction: get(`/actions/${ids.action}`),
    finishAction: post(`/actions/${ids.action}/finish`, {}),
    diffAction: get(`/actions/${ids.action}/diff`),
    abandonActions: post("/abandon", {}),
    listTransactions: get("/transactions"),
    beginTransaction: post("/transactions", {}),
    commitTransaction: post("/transactions/none/commit", {}),
    rollbackTransaction: post("/transactions/none/rollback", {}),
    listConflicts: get("/conflicts?patch=true", "/conflicts?patch=true&all=true"),
    resolveConflict: [{ path: `${base}/resolve?conflict=${ids.conflict}&keep=current`, bytes: "" }],
    listVersions: get("/versions"),
    restoreVersion: post("/versions/none/restore", {}),
    listRecords: get("/records"),
    getRecord: get("/record?id=none"),
    putRecord: [{ path: `${base}/record?id=mine`, body: { of: "mine" } }],
    deleteRecord: get("/record?id=mine"),
    recordEvents: get("/records/events"),
    verifyRecords: get("/records/verify"),
    importRecords: [{ path: `${base}/records/import`, bytes: "" }],
    verify: get("/verify"),
    followVerify: get("/verify-steps"),
    erasures: get("/erasures"),
    prunings: get("/prunings"),
    refusals: get("/refusals"),
    replicas: get("/replicas"),
    verifyIntegrity: get("/verify-integrity"),
    diskUsage: get("/du?by=path", "/du?by=age"),
    getConfig: get("/config"),
    retention: get("/retention"),
  };
}

/**
 * Sends a request. Returns the status, and the text of the head and the body. A stream of events is read to the last
 * event.
 */
export async function answerTo(
  serving: Serving,
  { method, path, body, bytes, token }: Asked & { readonly method: string; readonly token: string },
): Promise<{ readonly status: number; readonly text: string }> {
  if (path.includes("/events?")) return { status: 200, text: await eventsOf(serving, path, token) };
  // The first change comes at once: it says where the history is.
  if (path.endsWith("/head-changes")) return { status: 200, text: await streamUntil(serving, path, token, "data: ") };
  const given = body === undefined ? (bytes ?? "") : JSON.stringify(body);
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const answered = await serving.ask(path, {
    ...{ method, token, headers },
    ...(method === "GET" || given === "" ? {} : { body: given }),
  });
  return {
    status: answered.status,
    text: `${JSON.stringify(answered.headers)}\n${answered.bytes.toString("latin1")}`,
  };
}

/** Reads a stream of events up to the last recorded event, because the stream has no end. */
async function eventsOf(serving: Serving, path: string, token: string): Promise<string> {
  const { seq } = (await serving.ask(path.replace(/\/events\?.*/, "/status"))).json<{ seq: number }>();
  return streamUntil(serving, path, token, `id: ${seq}\n`);
}

/** Reads a stream until it has a text. */
async function streamUntil(serving: Serving, path: string, token: string, end: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization: `Bearer ${token}` };
  const asked = request({ host: "127.0.0.1", port: serving.port, path, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (piece: string) => {
      text += piece;
      if (!text.includes(end)) return;
      asked.destroy();
      resolve(text);
    });
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}
