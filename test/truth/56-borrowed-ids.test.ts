import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { Serving } from "../server/serving.ts";

/**
 * An agent's work under the id of a person's run, of an action or of an operation. With such an id, it would be
 * listed and undone as theirs.
 */

let serving: Serving;
let id: string;
let run: string;
let action: string;
let transaction: string;
let operation: string;

beforeAll(async () => {
  serving = await Serving.start({
    replication: true,
    before: async (store, base) => {
      const folder = join(base, "desk");
      mkdirSync(folder);
      const { workspace } = await store.init({ roots: [folder] });
      id = workspace.id;
      run = (await workspace.run({ command: ["sh", "-c", "echo mine > mine.txt"], cwd: folder })).session.session_id;
      const path = join(folder, "acted.txt");
      const request = { type: "write_file", payload: { path }, actor: "claude" };
      await workspace.action(request, (one) => {
        action = one?.id ?? "";
        writeFileSync(path, "acted\n");
      });
      transaction = await workspace.transaction((one) => one.id);
      operation = (await workspace.putFile("put.txt", Buffer.from("put"))).undo_id ?? "";
      await workspace.close();
    },
  });
});
afterAll(() => serving[Symbol.asyncDispose]());

const ids = (): [string, string][] => [
  ["a run", run],
  ["an action", action],
  ["a transaction", transaction],
  ["an operation", operation],
];

/** Returns the paths of the changes of a session or of an action. */
async function pathsOf(by: "session" | "action", of: string): Promise<string[]> {
  const asked = await serving.ask(`/v1/workspaces/${id}/changes?${by}=${of}`);
  return (asked.json<{ changes?: { path: string }[] }>().changes ?? []).map(({ path }) => path);
}

describe("Truth 56: an agent's token over HTTP", () => {
  it.each(["a run", "an action", "a transaction", "an operation"])(
    "is refused the id of %s as its session",
    async (what) => {
      const taken = Object.fromEntries(ids())[what] ?? "";
      expect(taken).not.toBe("");
      const token = serving.token("agent");
      const before = (await serving.ask(`/v1/workspaces/${id}`)).text;
      const at = `/v1/workspaces/${id}`;
      const sent = [
        await serving.put(id, `forged.txt?session=${taken}`, "forged", { token }),
        await serving.put(id, `mine.txt?session=${taken}`, "forged", { token }),
        await serving.ask(`${at}/files/mine.txt?session=${taken}`, { method: "DELETE", token }),
        await serving.send(`${at}/move`, { from: "mine.txt", to: "theirs.txt", session: taken }, { token }),
        await serving.send(`${at}/sessions`, { id: taken }, { token }),
        await serving.send(`${at}/actions`, { type: "write_file", payload: { path: "a" }, session: taken }, { token }),
        await serving.send(`${at}/transactions`, { session: taken }, { token }),
      ];
      expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 400));
      expect(sent[0]?.json()["detail"]).toContain(`${taken} is `);
      expect((await serving.ask(at)).text).toBe(before);
      expect(await pathsOf("session", run)).toEqual(["mine.txt"]);
      expect(await pathsOf("action", action)).toEqual(["acted.txt"]);
    },
  );

  it("writes in a session of its own", async () => {
    const token = serving.token("agent");
    expect((await serving.put(id, "own.txt?session=own", "own", { token })).status).toBe(200);
    expect(await pathsOf("session", "own")).toEqual(["own.txt"]);
  });
});

interface Claim {
  readonly actor?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

let writes = 0;

/** A replica writes files with these claims. Returns what the history says of each file. */
async function written(token: string, claims: readonly Claim[]): Promise<Record<string, unknown>[]> {
  const url = `http://127.0.0.1:${serving.port}`;
  const channel = await dialOrigin({ url, token, workspace: id }, new AbortController().signal);
  const replica = randomUUID();
  await channel.send({
    ...{ type: "Hello", versions: [2], capabilities: [], sandbox_id: replica, settled_local_seq: 0 },
    head: { sequence: 0, hash: "" },
  });
  const state = { kind: "file", permissions: 0o644, size: 0, mtime_ms: 0, is_deletion: false } as const;
  const content = { content_hash: sha256(""), inline_content: new Uint8Array(), master_rowid_seen: 0 };
  const entries = claims.map((claim, at) => ({
    ...{ local_seq: at + 1, filepath: `replica/${(writes += 1)}.txt`, ...state, ...content, actor: "claude" },
    ...claim,
  }));
  await channel.send({ type: "WriteBack", sandbox_id: replica, entries });
  const found = async (): Promise<(Record<string, unknown> | undefined)[]> =>
    Promise.all(
      entries.map(async ({ filepath }) => {
        const history = await serving.read(id, `${filepath}/history`);
        return history.json<{ items?: Record<string, unknown>[] }>().items?.[0];
      }),
    );
  await vi.waitUntil(async () => (await found()).every((one) => one !== undefined), { timeout: 60_000 });
  channel.close();
  await channel.ended;
  return (await found()) as Record<string, unknown>[];
}

const NOBODYS = { session: undefined, turn: undefined, action: undefined };
const whose = ({ session, turn, action: by }: Record<string, unknown>) => ({ session, turn, action: by });

describe("Truth 56: what a replica writes back", () => {
  it.each(["agent", "operator"] as const)(
    "under ids of this history belongs to none of them, with the token of an %s",
    async (role) => {
      const claims = ids().flatMap(([, taken]) => [
        { session: taken, turn: "made up" },
        { session: "mine", turn: "made up", action: taken },
      ]);
      const sessionsBefore = (await serving.ask(`/v1/workspaces/${id}/sessions`)).text;
      const items = await written(serving.token(role), claims);
      expect(items.map(whose)).toEqual(items.map(() => NOBODYS));
      expect((await serving.ask(`/v1/workspaces/${id}/sessions`)).text).toBe(sessionsBefore);
      expect(await pathsOf("session", run)).toEqual(["mine.txt"]);
      expect(await pathsOf("action", action)).toEqual(["acted.txt"]);
    },
  );

  it("under ids of a person's run at another replica belongs to nobody, and under its own ids to these", async () => {
    const theirs = { session: randomUUID(), action: randomUUID() };
    const [person] = await written(serving.token("operator"), [{ actor: "human", ...theirs }]);
    expect(person).toMatchObject({ actor: "human", ...theirs });
    const [bySession, byAction, own, again] = await written(serving.token("agent"), [
      { session: theirs.session, turn: "t" },
      { actor: "human", action: theirs.action },
      { session: "its-own", turn: "t", action: "an-action" },
      { session: "its-own", turn: "t2", action: "another" },
    ]);
    expect([bySession, byAction].map((one) => whose(one ?? {}))).toEqual([NOBODYS, NOBODYS]);
    expect([own, again].map((one) => one?.["session"])).toEqual(["its-own", "its-own"]);
    expect((await pathsOf("session", theirs.session)).length).toBe(1);
    // A conversation that continues at another replica stays one session.
    const [resumed] = await written(serving.token("agent"), [{ session: "its-own", turn: "t3" }]);
    expect(resumed?.["session"]).toBe("its-own");
  });

  it("under the actor of ambiguous changes gets the token's name, unless the token is an operator's", async () => {
    const claims = [{ actor: "ambiguous" }, { actor: "Ambiguous", session: "its-own" }, { actor: "us\u212er" }];
    const token = serving.token("agent");
    const { name } = (await serving.ask("/v1/me", { token })).json<{ name: string }>();
    expect((await written(token, claims)).map(({ actor }) => actor)).toEqual([name, name, name]);
    expect((await written(serving.token("operator"), claims)).map(({ actor }) => actor)).toEqual(
      claims.map(({ actor }) => actor),
    );
  });
});
