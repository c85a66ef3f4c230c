import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../src/api/routes/role.ts";
import { ROUTES } from "../../src/api/routes/table.ts";
import { answerTo, type EachRequest, requestsToAll } from "../helpers/requests-to-all.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** Only operators are told where folders lie on the server's machine. */

const PATHS = ["a.txt", "deep/b.txt", "left/out.log"];

let serving: Serving;
let requests: EachRequest;

beforeAll(async () => {
  serving = await Serving.start({
    folder: true,
    before: async (_store, base) => {
      for (const path of PATHS) {
        mkdirSync(join(base, "project", path, ".."), { recursive: true });
        writeFileSync(join(base, "project", path), "one\n");
      }
      writeFileSync(join(base, "project/.gitignore"), "*.log\n");
      // A damaged index: a coverage names it, since its rules cannot be applied.
      for (const name of ["objects", "refs"]) mkdirSync(join(base, "project/.git", name), { recursive: true });
      writeFileSync(join(base, "project/.git/HEAD"), "ref: refs/heads/main\n");
      writeFileSync(join(base, "project/.git/index"), "no index");
    },
  });
  const { items } = (await serving.ask("/v1/workspaces")).json<{ items: { id: string }[] }>();
  const id = items[0]?.id ?? "";
  const base = `/v1/workspaces/${id}`;
  await serving.put(id, "a.txt?session=s1", "two\n");
  await serving.put(id, "a.txt", "three\n");
  const action = await serving.send(`${base}/actions`, { type: "write_file", payload: { path: "deep/b.txt" } });
  await serving.send(`${base}/undo`, { session: "s1" });
  const conflicts = (await serving.ask(`${base}/conflicts`)).json<{ items: { id: string }[] }>();
  const ids = { action: action.json<{ id: string }>().id, conflict: conflicts.items[0]?.id ?? "" };
  const hashes = ["one\n", "two\n"].map((text) => createHash("sha256").update(text).digest("hex"));
  requests = requestsToAll({ base, ids, paths: PATHS, hashes });
});
afterAll(() => serving[Symbol.asyncDispose]());

/** The operations that give lines of the log. These lines are given unchanged, because their hashes cover them. */
const LINES: ReadonlySet<string> = new Set(["log", "followEvents"]);

const shown = ROUTES.filter(({ role, on }) => role !== "operator" && on !== "syncs");

it("this test has requests to every operation that a reader or an agent may ask", () => {
  expect(Object.keys(requests).toSorted()).toEqual(shown.map(({ operation }) => operation).toSorted());
});

it("an operator is told where the folder lies", async () => {
  const { status, text } = await answerTo(serving, {
    ...{ method: "GET", token: OPERATOR },
    path: requests["status"]?.[0]?.path ?? "",
  });
  expect([status, text]).toEqual([200, expect.stringContaining(serving.base)]);
});

describe.each<Role>(["reader", "agent"])("a token of the role %s", (role) => {
  const cleaned = shown.filter(({ operation }) => !LINES.has(operation));

  it.each(cleaned.map((row) => [row.operation, row] as const))("is told no folder: %s", async (operation, row) => {
    const token = serving.token(role);
    for (const asked of requests[operation] ?? []) {
      const { status, text } = await answerTo(serving, { ...asked, method: row.method, token });
      expect([asked.path, status < 500, text.includes(serving.base)]).toEqual([asked.path, true, false]);
    }
  });
});

it("a token of the role agent is not told where a folder was moved to", async () => {
  await using one = await Serving.start({
    before: async (store, base) => {
      mkdirSync(join(base, "first"));
      const { workspace } = await store.init({ roots: [join(base, "first")] });
      await workspace.close();
    },
  });
  const token = one.token("agent");
  const { items } = (await one.ask("/v1/workspaces")).json<{ items: { id: string }[] }>();
  const at = `/v1/workspaces/${items[0]?.id ?? ""}`;
  const places = Array.from({ length: 20 }, (_, n) => join(one.base, n === 0 ? "first" : `place-${n}`));
  const sent = async (from: string, to: string): Promise<Awaited<ReturnType<typeof one.send>>> => {
    await one.ask(`${at}/status`, { token });
    renameSync(from, to);
    // Another process records the new place, while the server has the workspace open at the old one.
    await (await one.store.open({ folder: to })).close();
    return one.send(`${at}/snapshots`, {}, { token });
  };
  let [status, text] = [201, ""];
  // The server looks for a new place once a second. If a slow machine lets it look in time, the folder is moved again.
  for (const [n, from] of places.slice(0, -1).entries()) {
    ({ status, text } = await sent(from, places[n + 1] ?? ""));
    if (status !== 201) break;
  }
  expect([status, text]).toEqual([404, expect.stringContaining("was moved to …")]);
  expect(text).not.toContain(one.base);
});
