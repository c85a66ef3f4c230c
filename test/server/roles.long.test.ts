import { Refusals } from "../../src/server/limits/refusals.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes/table.ts";
import { HINTS_HEADER, WITH_COMMANDS } from "../../src/api/routes/content-headers.ts";
import { Serving } from "./serving.ts";

/** What each role may do, and that a token does not see the workspaces of others. */

let serving: Serving;
let mine: string;
let other: string;

beforeAll(async () => {
  serving = await Serving.start();
  mine = await serving.create("mine");
  other = await serving.create("other");
  await serving.put("mine", "a.txt", "mine");
  await serving.put("other", "a.txt", "of others");
});
afterAll(() => serving[Symbol.asyncDispose]());

/** A path of a row, about this workspace. */
const pathOf = (path: string, workspace: string): string =>
  path
    .replace("{id}", workspace)
    .replaceAll(/\{(path|n|hash|[a-z_]+)\}/g, (_all, name) => (name === "n" ? "1" : "a.txt"));

describe("roles", () => {
  const operators = ROUTES.filter(({ role }) => role === "operator");
  const agents = ROUTES.filter(({ role }) => role === "agent");

  it.each(operators.map((row) => [row.operation, row] as const))("%s is an operator's", async (_name, row) => {
    for (const role of ["reader", "agent"] as const) {
      const token = serving.token(role);
      const { status, json } = await serving.ask(pathOf(row.path, mine), { method: row.method, token });
      expect([role, status, json()["code"]]).toEqual([role, 403, "FORBIDDEN"]);
    }
  });

  it.each(agents.map((row) => [row.operation, row] as const))("%s is no reader's", async (_name, row) => {
    const token = serving.token("reader");
    const { status } = await serving.ask(pathOf(row.path, mine), { method: row.method, token });
    expect(status).toBe(403);
  });

  it("have the refused attempts of an agent recorded in the log", async () => {
    const id = await serving.create("tried");
    const token = serving.token("agent", ["tried"]);
    expect((await serving.send(`/v1/workspaces/${id}/prune`, {}, { token })).status).toBe(403);
    expect((await serving.ask(`/v1/workspaces/tried`, { method: "DELETE", token })).status).toBe(403);
    const { items } = (await serving.ask(`/v1/workspaces/${id}/log?prefix=refused:`)).json<{
      items: { record: { what: string } }[];
    }>();
    expect(items.map(({ record }) => record.what)).toEqual(["prune", "forgetWorkspace"]);
  });

  it("have refusals that name the needed role, and that say of a secret that it is one", async () => {
    const id = await serving.create("told");
    await serving.put("told", ".env", "KEY=1");
    const token = serving.token("agent", ["told"]);
    const commands = { [HINTS_HEADER]: WITH_COMMANDS };
    const asked = async (path: string, method: string) => {
      const answered = await serving.ask(`/v1/workspaces/${id}${path}`, { method, token, headers: commands });
      return answered.json<{ code: string; detail: string; hint?: string }>();
    };
    const needed = expect.stringContaining("a token with the role operator can");
    expect(await asked("", "DELETE")).toMatchObject({
      code: "FORBIDDEN",
      detail: expect.stringContaining("an agent may not do this: "),
      hint: needed,
    });
    expect(await asked("/files/.env", "GET")).toMatchObject({
      code: "FORBIDDEN",
      detail: '".env" is a secret by its name: no agent and no reader is shown it',
      hint: needed,
    });
  });

  it("cannot fill a log with refusals", async () => {
    const id = await serving.create("flooded");
    const token = serving.token("agent");
    for (let n = 0; n < 40; n += 1) await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE", token });
    const { items } = (await serving.ask(`/v1/workspaces/${id}/log?prefix=refused:`)).json<{ items: unknown[] }>();
    expect(items).toHaveLength(20);
  });

  it("have the number of unlisted attempts recorded, and attempts on the whole store in the diagnostics", async () => {
    const refusals = new Refusals();
    const told = Array.from({ length: 25 }, () => refusals.next("a", 0));
    expect([told.slice(0, 20), told.slice(20)]).toEqual([Array(20).fill(0), Array(5).fill(undefined)]);
    expect([refusals.next("a", 10_000), refusals.next("b", 10_000)]).toEqual([5, 0]);
    const id = await serving.create("counted");
    const counted = await serving.store.openById(id);
    await expect(counted.refuse?.("prune", 5)).rejects.toMatchObject({ code: "FORBIDDEN" });
    const [last] = (await counted.log({ prefix: "refused:" })).slice(-1);
    expect(last?.record).toMatchObject({ what: "prune", detail: '[{"unlisted":5}]' });
    await counted.close();
    const token = serving.token("agent");
    expect((await serving.send("/v1/gc", {}, { token })).status).toBe(403);
    expect((await serving.send("/v1/workspaces", {}, { token })).status).toBe(403);
    const lines = serving.diagnostics().split("\n");
    const whose = `(agent ${serving.idOf(token)})`;
    const refused = lines.filter(
      (line) => line.includes("refused: an agent may not do this: ") && line.includes(whose),
    );
    expect(refused.map((line) => /this: (\w+) /.exec(line)?.[1])).toEqual(["collectStore", "createWorkspace"]);
  });

  it("can be lowered by a header, but not raised", async () => {
    const asAgent = { headers: { "chronicle-role": "agent" } };
    expect((await serving.send(`/v1/workspaces/mine/prune`, {}, asAgent)).status).toBe(403);
    expect((await serving.ask(`/v1/workspaces/mine`, { method: "DELETE", ...asAgent })).status).toBe(403);
    expect((await serving.send(`/v1/gc`, {}, asAgent)).status).toBe(403);
    const token = serving.token("agent");
    const headers = { "chronicle-role": "person" };
    expect((await serving.send(`/v1/workspaces/mine/prune`, {}, { token, headers })).status).toBe(403);
  });

  it("do not let an agent's work pass for a person's", async () => {
    const token = serving.token("agent");
    const asHuman = { token, headers: { "chronicle-actor": "human" } };
    expect((await serving.put("mine", "b.txt", "x", asHuman)).status).toBe(403);
    expect((await serving.put("mine", "b.txt?actor=human", "x", { token })).status).toBe(403);
    const move = { from: "a.txt", to: "b.txt", actor: "human" };
    expect((await serving.send("/v1/workspaces/mine/move", move, { token })).status).toBe(403);
    expect((await serving.put("mine", "b.txt?actor=claude", "x", { token })).status).toBe(200);
    expect((await serving.put("mine", "c.txt", "x", { token })).status).toBe(200);
    const actorOf = async (path: string) =>
      (await serving.read("mine", `${path}/history`)).json<{ items: { actor: string }[] }>().items[0]?.actor;
    expect([await actorOf("b.txt"), await actorOf("c.txt")]).toEqual(["claude", "agent"]);
  });

  it("are in the answer of /v1/me", async () => {
    const token = serving.token("agent", ["mine"]);
    expect((await serving.ask("/v1/me", { token })).json()).toMatchObject({ role: "agent", workspaces: ["mine"] });
  });
});

describe("a token for one workspace", () => {
  it.each(["id", "name"])("reaches it by its id and its name, if the token has its %s", async (way) => {
    const token = serving.token("agent", [way === "id" ? mine : "mine"]);
    for (const key of [mine, "mine"]) {
      expect((await serving.read(key, "a.txt", { token })).text).toBe("mine");
    }
    const { items } = (await serving.ask("/v1/workspaces", { token })).json<{ items: { id: string }[] }>();
    expect(items.map(({ id }) => id)).toEqual([mine]);
  });

  const about = ROUTES.filter(({ path, role }) => path.includes("{id}") && role !== "operator");

  it.each(about.map((row) => [row.operation, row] as const))(
    "gets the answer for a missing workspace about any other: %s",
    async (_name, row) => {
      const token = serving.token("agent", [mine]);
      const ask = async (key: string) => {
        const { status, text } = await serving.ask(pathOf(row.path, key), { method: row.method, token });
        return { status, text: text.replaceAll(key, "KEY") };
      };
      const absent = await ask("11111111-1111-4111-8111-111111111111");
      expect(absent.status).toBe(404);
      // A missing workspace, and one that this caller may not see, get the same answer.
      expect(await ask(other)).toEqual(absent);
      expect(await ask("other")).toEqual(absent);
      expect(absent.text).not.toContain("of others");
    },
  );

  it("does not get contents of others by their hash", async () => {
    const { headers } = await serving.read("other", "a.txt");
    const hash = String(headers.etag).replaceAll('"', "");
    const token = serving.token("agent", ["mine"]);
    expect((await serving.ask(`/v1/workspaces/other/blobs/${hash}`)).text).toBe("of others");
    expect((await serving.ask(`/v1/workspaces/mine/blobs/${hash}`, { token })).status).toBe(404);
    expect((await serving.ask(`/v1/workspaces/other/blobs/${hash}`, { token })).status).toBe(404);
  });

  it("forks no workspace that it does not see, and creates none that it would not see", async () => {
    const token = serving.token("operator", ["mine", "later"]);
    const create = (body: unknown) => serving.send("/v1/workspaces", body, { token });
    expect((await create({ name: "stolen" })).status).toBe(403);
    expect((await create({})).status).toBe(403);
    expect((await create({ name: "later", from: { workspace: "other" } })).status).toBe(404);
    expect((await create({ name: "later", from: { workspace: "mine" } })).status).toBe(201);
    expect((await serving.read("later", "a.txt", { token })).text).toBe("mine");
  });

  it("works with the workspace that gets its name later", async () => {
    const token = serving.token("agent", ["to-come"]);
    expect((await serving.ask("/v1/workspaces/to-come/files", { token })).status).toBe(404);
    const id = await serving.create("to-come");
    expect((await serving.put(id, "x", "y", { token })).status).toBe(200);
  });

  it("is not told where folders lie", async () => {
    await using hosting = await Serving.start({ folder: true });
    const shown = async (token?: string) =>
      (await hosting.ask("/v1/workspaces", token === undefined ? {} : { token })).json<{ items: { path: string }[] }>()
        .items[0]?.path;
    expect(await shown()).toBe(`${hosting.base}/project`);
    expect(await shown(hosting.token("agent"))).toBe("");
  });
});

describe("an archived and a removed workspace", () => {
  it("can only be read while it is archived, and is gone once it is removed", async () => {
    const id = await serving.create("ending");
    await serving.put("ending", "a", "b");
    const archive = (archived: boolean) => serving.send(`/v1/workspaces/ending/archive`, { archived });
    expect((await archive(true)).json()).toMatchObject({ id, archived: true });
    expect((await serving.put("ending", "a", "c")).json()).toMatchObject({ status: 409, code: "READ_ONLY" });
    expect((await serving.read("ending", "a")).text).toBe("b");
    await archive(false);
    expect((await serving.put("ending", "a", "c")).status).toBe(200);
    expect((await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE" })).status).toBe(200);
    for (const key of [id, "ending"]) expect((await serving.read(key, "a")).status).toBe(404);
    const again = await serving.create("ending");
    expect(again).not.toBe(id);
    expect((await serving.read("ending", "a")).status).toBe(404);
  });
});
