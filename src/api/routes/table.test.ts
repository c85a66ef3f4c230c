import * as z from "zod";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import { defineCall, WORKSPACE } from "./define-call.ts";
import { workspaceRoute } from "./define-route.ts";
import type { Received } from "./route.ts";
import type { Route } from "./row.ts";
import { ROUTES } from "./table.ts";

const received: Received = {
  params: {},
  query: {},
  me: { version: "1", role: "operator", workspaces: null, default_workspace: null },
  signal: new AbortController().signal,
};

/** None of its members may be read: an invalid request is refused before. */
const untouchable = new Proxy({}, { get: (_, name) => expect.fail(`${String(name)} was asked`) });

function answer(operation: string, given: Partial<Received>): Promise<unknown> {
  const row = ROUTES.find((one) => one.operation === operation) as Route;
  const all = { ...received, ...given };
  if (row.on === "store") return row.answer(untouchable as StoreApi, all);
  return row.on === "syncs" ? row.answer(untouchable as SyncApi, all) : row.answer(untouchable as WorkspaceApi, all);
}

describe("the table", () => {
  it("names each operation once, and asks for each by a way of its own", () => {
    const names = ROUTES.map(({ operation }) => operation);
    expect(new Set(names).size).toBe(names.length);
    const ways = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(ways).size).toBe(ways.length);
  });

  it("lets a reader look, and nothing else", () => {
    for (const { operation, method, role } of ROUTES) {
      if (role === "reader") expect([operation, method]).toEqual([operation, "GET"]);
    }
  });

  it("keeps what frees, gives up or administers from agents", () => {
    const operators = ROUTES.filter(({ role }) => role === "operator").map(({ operation }) => operation);
    expect(operators.sort()).toEqual([
      "archiveWorkspace",
      "collect",
      "collectStore",
      "compact",
      "configure",
      "createWorkspace",
      "doctor",
      "erase",
      "forgetWorkspace",
      "pauseSync",
      "pin",
      "prune",
      "rebuild",
      "resumeSync",
      "startSync",
      "stopSync",
      "storeUsage",
      "unerase",
    ]);
  });

  it("has rows about a workspace beneath it, and `{path}` where slashes may be", () => {
    for (const { on, path } of ROUTES) {
      expect(path.startsWith(on === "workspace" ? `${WORKSPACE}/` : "/v1/")).toBe(true);
      expect(path.match(/\{path\}/g)?.length ?? 0).toBeLessThanOrEqual(1);
    }
  });
});

describe("what a row takes in", () => {
  const usage = (field: string) => expect.objectContaining({ code: "USAGE", data: { field } });

  it.each<[string, Partial<Received>, string]>([
    ["listFiles", { query: { depth: "1", nothing: "x" } }, "query"],
    ["listFiles", { query: { depth: "0" } }, "query.depth"],
    ["listFiles", { query: { depth: "1e3" } }, "query.depth"],
    ["listFiles", { query: { depth: ["1", "2"] } }, "query.depth"],
    ["listFiles", { query: { limit: "1001" } }, "query.limit"],
    ["listFiles", { query: { limit: "99999999999999999" } }, "query.limit"],
    ["listFiles", { query: { fresh: "yes" } }, "query.fresh"],
    ["listFiles", { query: { at: "a\nb" } }, "query.at"],
    ["status", { query: { x: "1" } }, "query"],
    ["restore", { body: { moment: "1", paths: "a" } }, "body.paths"],
    ["restore", { body: { moment: "1", paths: ["a", 1] } }, "body.paths.1"],
    ["restore", { body: {} }, "body.moment"],
    ["restore", { body: { moment: "1", to: "/somewhere" } }, "body"],
    ["restore", { body: [] }, "body"],
    ["restore", { body: null }, "body"],
    ["restore", { body: { moment: "x".repeat(201) } }, "body.moment"],
    ["beginAction", { body: { type: "write_file", payload: { content: "x" } } }, "body.payload"],
    ["putRecord", { query: { id: "a" }, body: deep(100) }, "body"],
    ["putRecord", { query: {}, body: {} }, "query.id"],
    ["listSnapshots", { query: { cursor: "" } }, "query.cursor"],
    ["followEvents", { lastEventId: "-1" }, "Last-Event-ID"],
  ])("%s %j is refused", async (operation, given, field) => {
    await expect(answer(operation, given)).rejects.toEqual(usage(field));
  });

  it("says no more of a huge value than it must", async () => {
    const key = "k".repeat(100_000);
    const refused = answer("status", { query: { [key]: "1" } });
    await expect(refused).rejects.toThrow(expect.objectContaining({ message: expect.stringMatching(/^.{0,400}$/s) }));
    await expect(answer("restore", { body: { moment: "1", [key]: 1 } })).rejects.toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,400}$/s) }),
    );
  });

  it("a body is refused where there is none", async () => {
    await expect(answer("rebuild", { body: {} })).rejects.toMatchObject({ code: "USAGE" });
  });
});

function deep(levels: number): object {
  return levels === 0 ? {} : { a: deep(levels - 1) };
}

describe("the halves of a row", () => {
  const call = defineCall({
    operation: "test",
    method: "GET",
    path: "/v1/workspaces/{id}/test",
    reply: { json: "BlobShape" },
    ask: (size: number) => ({ query: { size } }),
  });
  const text = { role: "reader", tag: "", summary: "" } as const;
  const shape = () => Promise.resolve({ hash: "", size: 1 });

  it("must fit: the compiler sees it", () => {
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.number() }), answer: shape });
    // @ts-expect-error `ask` gives a number, and the schema takes a text.
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.string() }), answer: shape });
    // @ts-expect-error the reply is another shape.
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.number() }), answer: () => Promise.resolve(1) });
    expect(call.ask(1)).toEqual({ query: { size: 1 } });
  });
});
