import * as z from "zod";
import { describe, expect, it } from "vitest";
import { defineCall, WORKSPACE, workspaceRoute, type Route } from "./row.ts";
import { ROUTES } from "./table.ts";
import { NO_QUERY, validate, type Validated } from "./validate.ts";

function rowOf(operation: string): Route {
  const row = ROUTES.find((one) => one.operation === operation);
  if (row === undefined) throw new Error(`there is no ${operation}`);
  return row;
}

const queryOf = (operation: string, given: unknown): Validated =>
  validate(rowOf(operation).query ?? NO_QUERY, given, "query");
const bodyOf = (operation: string, given: unknown): Validated =>
  validate(rowOf(operation).body ?? z.undefined(), given, "body");

describe("the table", () => {
  it("names each operation once, and gives each a method and path of its own", () => {
    const names = ROUTES.map(({ operation }) => operation);
    expect(new Set(names).size).toBe(names.length);
    const ways = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(ways).size).toBe(ways.length);
  });

  it("lets a reader use GET routes only, and keep marks of their own", () => {
    const others = ROUTES.filter(({ method, role }) => role === "reader" && method !== "GET");
    expect(others.map(({ operation }) => operation)).toEqual(["changeMarks"]);
  });

  it("reserves the operations that free, give up or administer something for operators", () => {
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
      "migrateRecords",
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

  it("has the routes of a workspace beneath the workspace's path, and at most one `{path}` in each route", () => {
    for (const { on, path } of ROUTES) {
      expect(path.startsWith(on === "workspace" ? `${WORKSPACE}/` : "/v1/")).toBe(true);
      expect(path.match(/\{path\}/g)?.length ?? 0).toBeLessThanOrEqual(1);
    }
  });
});

describe("the input of a row", () => {
  const refused = (field: string) => ({ error: expect.objectContaining({ code: "USAGE", data: { field } }) });

  it.each<[string, Record<string, string | string[]>, string]>([
    ["listFiles", { depth: "1", nothing: "x" }, "query"],
    ["listFiles", { depth: "0" }, "query.depth"],
    ["listFiles", { depth: "1e3" }, "query.depth"],
    ["listFiles", { depth: ["1", "2"] }, "query.depth"],
    ["listFiles", { limit: "1001" }, "query.limit"],
    ["listFiles", { limit: "99999999999999999" }, "query.limit"],
    ["listFiles", { fresh: "yes" }, "query.fresh"],
    ["listFiles", { at: "a\nb" }, "query.at"],
    ["status", { x: "1" }, "query"],
    ["putRecord", {}, "query.id"],
    ["listSnapshots", { cursor: "" }, "query.cursor"],
  ])("the query of %s: %j is refused", (operation, given, field) => {
    expect(queryOf(operation, given)).toEqual(refused(field));
  });

  it.each<[string, unknown, string]>([
    ["restore", { moment: "1", paths: "a" }, "body.paths"],
    ["restore", { moment: "1", paths: ["a", 1] }, "body.paths.1"],
    ["restore", {}, "body.moment"],
    ["restore", { moment: "1", to: "/somewhere" }, "body"],
    ["restore", [], "body"],
    ["restore", null, "body"],
    ["restore", { moment: "x".repeat(201) }, "body.moment"],
    ["beginAction", { type: "write_file", payload: { content: "x" } }, "body.payload"],
    ["putRecord", deep(100), "body"],
  ])("the body of %s: %j is refused", (operation, given, field) => {
    expect(bodyOf(operation, given)).toEqual(refused(field));
  });

  it("is refused in at most 400 characters, even if the name of an unknown field is huge", () => {
    const key = "k".repeat(100_000);
    const short = { error: expect.objectContaining({ message: expect.stringMatching(/^.{0,400}$/s) }) };
    expect(queryOf("status", { [key]: "1" })).toEqual(short);
    expect(bodyOf("restore", { moment: "1", [key]: 1 })).toEqual(short);
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

  it("must fit each other, which the compiler checks", () => {
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.number() }), answer: shape });
    // @ts-expect-error `ask` gives a number, and the schema takes a text.
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.string() }), answer: shape });
    // @ts-expect-error the reply is another shape.
    workspaceRoute(call, { ...text, query: z.strictObject({ size: z.number() }), answer: () => Promise.resolve(1) });
    expect(call.ask(1)).toEqual({ query: { size: 1 } });
  });
});
