import { writeFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes/table.ts";
import { CALLERS, type FuzzRequest, requestsTo, WORKSPACES } from "./fuzz-requests.ts";
import { OPERATOR, Serving } from "./serving.ts";

/**
 * Requests of all kinds to every row of the table. Each is answered in time. Each refusal has one form, and shows
 * nothing of the server's internals. `FUZZ_RUNS=2000 FUZZ_SEED=random` for more of it.
 */

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 60);
const SEED = process.env["FUZZ_SEED"] === "random" ? Date.now() % 1_000_000_000 : Number(process.env["FUZZ_SEED"] ?? 1);
const AT_ONCE = 6;
const ANSWER_MS = 10_000;

let serving: Serving;
let tokens: Readonly<Record<(typeof CALLERS)[number], string | null>>;
/** What replies have named: ids, hashes, cursors. */
const named: string[] = ["one"];

beforeAll(async () => {
  serving = await Serving.start({ folder: true });
  tokens = {
    operator: OPERATOR,
    agent: serving.token("agent"),
    reader: serving.token("reader"),
    confined: serving.token("operator", ["one"]),
    nobody: "no-token-of-anybody",
    owner: null,
  };
});
afterAll(() => serving[Symbol.asyncDispose]());

/** Makes the workspaces again that were forgotten or archived meanwhile. */
async function prepare(): Promise<void> {
  for (const name of ["one", "two"]) {
    await serving.send("/v1/workspaces", { name });
    await serving.send(`/v1/workspaces/${name}/archive`, { archived: false });
    for (const path of ["a.txt", "d/c.txt"]) await serving.put(name, path, `${path} of ${name}`);
  }
  writeFileSync(join(serving.base, "project", "a.txt"), String(Math.random()));
}

interface Seen {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

function send(asked: FuzzRequest, folder: string): Promise<Seen> {
  const fill = (text: string): string =>
    text
      .replaceAll(/§(\d+)/g, (_all, n: string) => named[Number(n) % named.length] ?? "")
      .replaceAll("/folder", `/${folder}`);
  const token = tokens[asked.as];
  const { promise, resolve, reject } = Promise.withResolvers<Seen>();
  const headers = Object.entries(asked.headers).map(([name, value]) => [name, fill(value)]);
  const body = typeof asked.body === "string" ? fill(asked.body) : asked.body;
  const sent = request({
    ...(token === null ? { socketPath: serving.run.socket } : { host: "127.0.0.1", port: serving.port }),
    path: fill(asked.target).replaceAll(/[^\x21-\x7e]/g, "%3F"),
    method: asked.method,
    agent: false,
    headers: {
      ...Object.fromEntries(headers),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    },
  });
  const timer = setTimeout(() => reject(new Error("no answer")), ANSWER_MS);
  sent.on("response", (response) => {
    let text = "";
    const end = (): void => {
      clearTimeout(timer);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    };
    response.setEncoding("utf8");
    response.on("data", (piece: string) => {
      text += piece;
      if (response.headers["content-type"]?.startsWith("text/event-stream") === true) sent.destroy();
    });
    response.on("close", end);
  });
  sent.on("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  sent.end(body);
  return promise;
}

function complaintsOf(seen: Seen, { method, as }: FuzzRequest): string[] {
  const found = [...leaksOf(seen.text, as), ...formOf(seen)];
  return seen.status < 400 || method === "HEAD" ? found : [...found, ...refusalOf(seen)];
}

function leaksOf(text: string, as: FuzzRequest["as"]): string[] {
  const found: string[] = [];
  if (/\n\s+at |node:internal|\.ts:\d+/.test(text)) found.push("a stack");
  if (Object.values(tokens).some((token) => token !== null && text.includes(token))) found.push("a token");
  // The history of a workspace has the place of its folder. But only an operator may know the place of the store.
  const mayKnow = as === "operator" || as === "owner";
  const inside = [`${serving.base}/store`, `${serving.base}/config`];
  if (!mayKnow && inside.some((one) => text.includes(one))) found.push("a folder of the server's");
  return found;
}

function formOf({ status, headers }: Seen): string[] {
  const found: string[] = [];
  if (status >= 500 && status !== 501 && status !== 503) found.push("trouble of the server's own");
  if (headers["set-cookie"] !== undefined) found.push("a header of the client's making");
  if (headers["content-type"]?.startsWith("text/html") === true) found.push("markup");
  if (headers["x-content-type-options"] !== "nosniff" && status !== 204 && status !== 100) found.push("no nosniff");
  return found;
}

function refusalOf({ status, headers, text }: Seen): string[] {
  const type = headers["content-type"] ?? "";
  if (!type.startsWith("application/problem+json")) return [`refused as ${type}`];
  const found: string[] = [];
  const problem = JSON.parse(text) as Record<string, unknown>;
  if (problem["status"] !== status || typeof problem["code"] !== "string") found.push("no whole problem");
  if (text.length > 8_000) found.push("a long refusal");
  return found;
}

function harvest(text: string): void {
  for (const [one] of text.matchAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|(?<="next":")[^"]{1,100}/g)) {
    if (named.length < 400) named.push(one);
    else named[Math.floor(Math.random() * 400)] = one;
  }
}

it(`requests of all kinds to ${ROUTES.length} routes, seed ${SEED}`, { timeout: 3_600_000 }, async () => {
  await prepare();
  const folder = (await serving.ask("/v1/me")).json<{ default_workspace: string }>().default_workspace;
  const perRow = ROUTES.map((row, at) => fc.sample(requestsTo(row), { seed: SEED + at, numRuns: RUNS }));
  const all = Array.from({ length: RUNS }, (_, n) => perRow.flatMap((requests) => requests.slice(n, n + 1))).flat();
  const statuses = new Map<number, number>();
  const trouble: unknown[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    if (at % (AT_ONCE * 40) === 0) await prepare();
    await Promise.all(
      all.slice(at, at + AT_ONCE).map(async (asked) => {
        try {
          // The workspace of the folder is not removed, because nothing would make it again.
          const seen = await send(asked, asked.method === "DELETE" ? "two" : folder);
          statuses.set(seen.status, (statuses.get(seen.status) ?? 0) + 1);
          harvest(seen.text);
          const complaints = complaintsOf(seen, asked);
          if (complaints.length > 0)
            trouble.push({ complaints, asked, status: seen.status, text: seen.text.slice(0, 400) });
        } catch (error) {
          trouble.push({ error: String(error), asked });
        }
      }),
    );
  }

  expect([trouble.length, trouble.slice(0, 8)]).toEqual([0, []]);
  const lines = serving.diagnostics().split("\n");
  expect(lines.filter((line) => line !== "" && !line.includes(" refused: "))).toEqual([]);
  expect((await serving.ask("/healthz")).status).toBe(200);
  for (const status of [200, 400, 401, 403, 404, 412])
    expect([status, statuses.get(status) ?? 0]).not.toEqual([status, 0]);
  await prepare();
  for (const name of WORKSPACES) {
    const verified = await serving.ask(`/v1/workspaces/${name === "folder" ? folder : name}/verify`);
    expect(verified.json()).toMatchObject({ problems: [] });
  }
  if (process.env["FUZZ_RUNS"] !== undefined)
    console.log(
      all.length,
      [...statuses].toSorted(([a], [b]) => a - b),
    );
});
