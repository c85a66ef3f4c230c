import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { makeProblem, problemOf, problemReply } from "../../src/server/answers/problem.ts";
import { HINTS_HEADER, WITH_COMMANDS } from "../../src/api/routes/content-headers.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** A failure is answered with a stable code, and without private details. */

describe("a problem", () => {
  const report = (): void => undefined;

  it("has code, status, hint and data of what was refused", () => {
    const error = new ChronicleError("REFUSED", "no", { hint: "so", data: { path: "a", n: 1, list: ["x", "/etc"] } });
    expect(problemOf(error, { hidden: [], report })).toEqual({
      ...{ type: "about:blank", title: "Conflict", status: 409, code: "REFUSED", detail: "no", hint: "so" },
      data: { path: "a", n: 1, list: ["x"] },
    });
  });

  it("of a quick route has the title of its status, as every other", () => {
    expect(JSON.parse(String(problemReply(makeProblem(426, "FORMAT_UNSUPPORTED", "it leaves")).body))).toEqual({
      ...{ type: "about:blank", title: "Upgrade Required", status: 426 },
      ...{ code: "FORMAT_UNSUPPORTED", detail: "it leaves" },
    });
  });

  it("names no folder of the machine", () => {
    const data = { folder: "/home/u/p", nested: { at: "/srv/store/x", other: "in /srv/store" }, fn: report };
    const error = new ChronicleError("REFUSED", "cannot open /srv/store/blobs", { hint: "see /srv/store", data });
    const problem = problemOf(error, { hidden: ["/srv/store", ""], report });
    expect(JSON.stringify(problem)).not.toMatch(/srv|home/);
    expect(problem.detail).toBe("cannot open …/blobs");
  });

  it.each([new Error("secret /etc/shadow"), new ChronicleError("IO", "EACCES: /home/u/x"), "text", undefined])(
    "that nobody expected has an id, and no details: %o",
    (error) => {
      const lines: string[] = [];
      const problem = problemOf(error, { hidden: [], report: (line) => lines.push(line) });
      expect(problem.status).toBe(500);
      expect(JSON.stringify(problem)).not.toMatch(/secret|shadow|home|EACCES/);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(problem.id);
    },
  );

  it.each(["INTEGRITY_VIOLATION", "BLOB_MISSING", "BLOB_CORRUPT", "LOG_DAMAGED", "ROLLBACK_DETECTED"] as const)(
    "of the store says what is wrong, and where there is more: %s",
    (code) => {
      const error = new ChronicleError(code, "/home/u/store/log is not sound");
      const problem = problemOf(error, { hidden: [], report, commands: true });
      expect(problem.detail).toMatch(/^this request could not be answered: .*store.*; the server's|: a history /);
      expect(problem.hint).toContain("chronicle doctor");
      expect(JSON.stringify(problem)).not.toContain("/home/u");
      expect(problemOf(error, { hidden: [], report }).hint).toBeUndefined();
    },
  );

  it("names the system's reason also where that is the cause of another one", () => {
    const refused = Object.assign(new Error("EROFS: read-only file system, open '/home/u/x'"), { code: "EROFS" });
    for (const cause of [refused, new ChronicleError("IO", "x", { data: { errno: "EROFS" } })]) {
      const problem = problemOf(new ChronicleError("INTEGRITY_VIOLATION", "no", { cause }), { hidden: [], report });
      expect(problem.detail).toMatch(/could not be answered: .*read-only/);
      expect([problem.data, problem.hint]).toEqual([{ errno: "EROFS" }, expect.stringContaining("mount")]);
      expect(JSON.stringify(problem)).not.toContain("/home/u");
    }
  });

  it.each(["run `chronicle verify`", "chronicle -w x undo", "usage: chronicle transaction"])(
    "names commands only to clients that have them: %s",
    (hint) => {
      const error = new ChronicleError("REFUSED", "no", { hint });
      expect(problemOf(error, { hidden: [], report }).hint).toBeUndefined();
      expect(problemOf(error, { hidden: [], report, commands: true }).hint).toBe(hint);
    },
  );

  it("is bounded in length", () => {
    const long = "x".repeat(100_000);
    const error = new ChronicleError("USAGE", long, { hint: long, data: { long, many: Array(1_000).fill("y") } });
    expect(JSON.stringify(problemOf(error, { hidden: [], report })).length).toBeLessThan(5_000);
  });
});

it("a problem or an answer names no folder of a workspace to an agent, also if several are tracked", async () => {
  await using serving = await Serving.start();
  const roots = ["first", "first/private-project", "second"].map((name) => join(serving.base, name));
  for (const root of roots) mkdirSync(root);
  const [first = "", , second = ""] = roots;
  const { workspace } = await serving.store.init({ roots: [first, second] });
  await workspace.close();
  renameSync(second, `${second}-away`);
  const token = serving.token("agent");
  for (const path of ["status", "explain?path=a"]) {
    const told = await serving.ask(`/v1/workspaces/${workspace.id}/${path}`, { token });
    expect([path, told.text.includes(serving.base)]).toEqual([path, false]);
  }
  const refused = await serving.send(`/v1/workspaces/${workspace.id}/snapshots`, {}, { token });
  expect([refused.status, refused.json()["detail"]]).toEqual([
    404,
    expect.stringContaining("tracked folder … is not there"),
  ]);
  expect(
    problemOf(new ChronicleError("REFUSED", roots[1] ?? ""), { hidden: roots, report: () => undefined }).detail,
  ).toBe("…");
});

it("the document of the interface is served", async () => {
  await using serving = await Serving.start();
  const { status, json } = await serving.ask("/v1/openapi.json");
  expect([status, json()]).toMatchObject([200, { openapi: expect.stringMatching(/^3\.1/), paths: {} }]);
});

it("a problem names commands only to the command line", async () => {
  await using serving = await Serving.start();
  await serving.create("w");
  const target = "/v1/workspaces/w/manifest?moment=99";
  const { status, json } = await serving.ask(target);
  expect([status, json()]).toEqual([404, expect.not.objectContaining({ hint: expect.anything() })]);
  const told = await serving.ask(target, { headers: { [HINTS_HEADER]: WITH_COMMANDS } });
  expect(told.json()).toMatchObject({ hint: expect.stringContaining("chronicle list") });
});

describe("a server whose store is hurt", () => {
  it("answers with a problem that names no folder, writes no token to its diagnostics, and still serves others", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("hurt");
    await serving.put(id, "a.txt", "x");
    await serving.create("well");
    // Its log is gone while nobody has it open.
    await serving.ask(`/v1/workspaces/hurt/archive`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const folder = join(serving.base, "store/workspaces", id);
    writeFileSync(join(folder, "events.wal"), "garbage\n");
    for (const name of readdirSync(folder)) if (name.startsWith("index.db")) rmSync(join(folder, name));
    const { status, text, headers } = await serving.read("hurt", "a.txt");
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(text).not.toContain(serving.base);
    expect(text).not.toMatch(/node_modules|\.ts:|\.js:|at [A-Z#]/);
    expect(serving.diagnostics()).not.toContain(OPERATOR);
    expect((await serving.ask("/v1/workspaces/well/files")).status).toBe(200);
  });

  it("is healthy, but not ready, while its store is gone", async () => {
    await using serving = await Serving.start();
    const home = join(serving.base, "store");
    renameSync(home, `${home}.away`);
    const health = async (path: string) => (await serving.ask(path, { token: null })).status;
    expect([await health("/healthz"), await health("/readyz")]).toEqual([200, 503]);
    renameSync(`${home}.away`, home);
    chmodSync(home, 0o700);
    expect(await health("/readyz")).toBe(200);
  });
});
