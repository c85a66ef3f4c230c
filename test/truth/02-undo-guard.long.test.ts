import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";
import { McpProject } from "../helpers/mcp-project.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** A checkout of a branch that ignores nothing: files that no capture had taken are recorded as new. */
const CHECKOUT = "rm .gitignore; echo old > a; echo made > made";
const RULES = ".env\nnode_modules/\n";

interface Told {
  readonly changes: readonly { readonly path: string }[];
  readonly skipped: readonly { readonly path: string; readonly reason: string; readonly detail?: string }[];
}

/** Checks what every undo of the checkout leaves, changes and reports. */
function expectGuarded(read: (path: string) => string, exists: (path: string) => boolean, told: Told): void {
  expect(read(".env")).toBe("SECRET=1\n");
  expect(read("node_modules/dep/index.js")).toBe("module.exports = 1;\n");
  expect(read("a")).toBe("new\n");
  expect(read(".gitignore")).toBe(RULES);
  expect(exists("made")).toBe(false);
  expect(told.changes.map((one) => one.path).sort()).toEqual([".gitignore", "a", "made"]);
  const skipped = told.skipped.map((one) => one.path);
  expect(skipped).toContain(".env");
  expect(skipped).toContain("node_modules/dep/index.js");
  for (const { reason, detail } of told.skipped) {
    if (reason === "not-empty") continue;
    expect({ reason, detail }).toEqual({ reason: "unseen", detail: "it was excluded then, so it may have been there" });
  }
}

function plant(write: (path: string, content: string) => void): void {
  write(".gitignore", RULES);
  write(".env", "SECRET=1\n");
  write("node_modules/dep/index.js", "module.exports = 1;\n");
  write("a", "new\n");
}

function boxed(): Sandbox {
  const box = new Sandbox();
  plant((path, content) => box.write(path, content));
  return box;
}

function expectGuardedIn(box: Sandbox, told: unknown): void {
  expectGuarded(
    (path) => readFileSync(join(box.project, path), "utf8"),
    (path) => existsSync(join(box.project, path)),
    told as Told,
  );
}

/** Does the checkout as a tool call of a library on the same store. Returns the action's id. */
async function checkedOut(box: Sandbox, more: Partial<ActionRequest> = {}): Promise<string> {
  const { openStore } = await import("../../src/open.ts");
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project });
  const id = await checkoutAction(workspace, () => box.sh(CHECKOUT), more);
  await workspace.close();
  await store.close();
  return id;
}

function checkoutAction(workspace: WorkspaceApi, work: () => void, more: Partial<ActionRequest> = {}): Promise<string> {
  const request = { type: "run_command", payload: { command: "git checkout old" }, ...more };
  return workspace.action(request, (action) => {
    work();
    return action?.id ?? "";
  });
}

describe("Truth 2: an undo deletes only what was seen to be absent", () => {
  it("undo in a further root leaves a path that was omitted there", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    box.write("../two/.gitignore", ".env\n");
    box.write("../two/.env", "SECRET=1\n");
    await box.must(["init", ".", "../two"]);
    box.run(["run", "--", "sh", "-c", "echo made > ../two/made; rm ../two/.gitignore"]);
    const { value } = await box.json(["undo", "-y"]);
    expect((value as Told).skipped).toMatchObject([{ path: "@two:.env", reason: "unseen" }]);
    expect(existsSync(join(box.folder, "two/made"))).toBe(false);
    expect(readFileSync(join(box.folder, "two/.env"), "utf8")).toBe("SECRET=1\n");
  });

  it("undo of a run", async () => {
    using box = boxed();
    await box.must(["init"]);
    expect(box.run(["run", "--", "sh", "-c", CHECKOUT]).code).toBe(0);
    const dry = await box.json(["undo", "--dry-run"]);
    const { value } = await box.json(["undo"]);
    expectGuardedIn(box, value);
    expect((dry.value as Told).skipped).toEqual((value as Told).skipped);
    // The redo does again only what was undone.
    await box.must(["redo"]);
    expect(existsSync(join(box.project, "made"))).toBe(true);
    expect(readFileSync(join(box.project, ".env"), "utf8")).toBe("SECRET=1\n");
    // This undo inverts the whole redo.
    await box.must(["undo"]);
    expect(readFileSync(join(box.project, ".env"), "utf8")).toBe("SECRET=1\n");
  });

  it("`changes` notes that a path may have been there, as undo does", async () => {
    using box = boxed();
    await box.must(["init"]);
    box.run(["run", "--", "sh", "-c", CHECKOUT]);
    const { stdout } = await box.must(["changes", "--since", "0"]);
    expect(stdout).toContain("note: .env: it was excluded then, so it may have been there\n");
    expect(stdout).not.toMatch(/note: (a|made|\.gitignore):/);
  });

  it("undo without --json tells which paths stay, and why", async () => {
    using box = boxed();
    await box.must(["init"]);
    box.run(["run", "--", "sh", "-c", CHECKOUT]);
    const said = await box.call(["undo", "--yes"]);
    expect(said.code).toBe(1);
    expect(said.stdout + said.stderr).toContain(".env");
    expect(said.stdout + said.stderr).toContain("it was excluded then, so it may have been there");
  });

  it.each([
    ["--action", (id: string) => id],
    ["--turn", () => "t1"],
    ["--session", () => "s1"],
    ["--actor", () => "claude"],
  ] as const)("undo %s", async (flag, value) => {
    using box = boxed();
    await box.must(["init"]);
    const id = await checkedOut(box, { session: "s1", turn: "t1", actor: "claude" });
    const dry = await box.json(["undo", flag, value(id), "--dry-run"]);
    const done = await box.json(["undo", flag, value(id)]);
    expectGuardedIn(box, done.value);
    expect((dry.value as Told).skipped).toEqual((done.value as Told).skipped);
    await box.must(["redo"]);
    await box.must(["undo"]);
    expect(readFileSync(join(box.project, ".env"), "utf8")).toBe("SECRET=1\n");
  });

  it("undo --since a moment", async () => {
    using box = boxed();
    await box.must(["init"]);
    const moment = `seq:${((await box.json(["status"])).value as { seq: number }).seq}`;
    box.sh(CHECKOUT);
    await box.must(["snapshot"]);
    expectGuardedIn(box, (await box.json(["undo", "--since", moment])).value);
  });

  it("restore to a moment before the last snapshot", async () => {
    using box = boxed();
    await box.must(["init"]);
    box.sh(CHECKOUT);
    await box.must(["snapshot"]);
    expectGuardedIn(box, (await box.json(["restore", "baseline"])).value);
  });

  it("rollback of an action", async () => {
    using box = boxed();
    await box.must(["init"]);
    const id = await checkedOut(box);
    expectGuardedIn(box, (await box.json(["rollback", id])).value);
  });

  it("transaction rollback", async () => {
    using box = boxed();
    await box.must(["init"]);
    await box.must(["transaction", "begin"]);
    box.sh(CHECKOUT);
    const { value } = await box.json(["transaction", "rollback"]);
    expectGuardedIn(box, (value as { undo: unknown }).undo);
  });

  it("run --rollback-on-failure", () => {
    using box = boxed();
    expect(box.run(["init"]).code).toBe(0);
    const ran = box.run(["--json", "run", "--rollback-on-failure", "--", "sh", "-c", `${CHECKOUT}; exit 3`]);
    // 122: not all of it could be rolled back.
    expect(ran.code).toBe(122);
    const told = JSON.parse(ran.stderr) as { skipped: unknown };
    const changes = [".gitignore", "a", "made"].map((path) => ({ path }));
    expectGuardedIn(box, { ...told, changes });
  });

  it("undo over HTTP", async () => {
    await using project = new Project();
    plant((path, content) => project.write(path, content));
    const workspace = await project.init();
    await checkoutAction(workspace, () => {
      rmSync(project.at(".gitignore"));
      project.write("a", "old\n");
      project.write("made", "made\n");
    });
    await workspace.close();
    await using served = await ServedStore.start({
      places: { home: project.home, configFolder: project.configFolder },
    });
    const [hosted] = await served.client().store.workspaces();
    const told = await served
      .client()
      .workspace(hosted?.id ?? "")
      .undo();
    expectGuarded(
      (path) => project.read(path),
      (path) => existsSync(project.at(path)),
      told,
    );
  });

  it("undo leaves paths that were too large or special before a run and could be recorded during it", async () => {
    await using project = new Project();
    project.write("big", "x".repeat(4_000));
    project.write("a", "1\n");
    const workspace = await project.init({ maxFileSize: 1_000 });
    const { spawnSync } = await import("node:child_process");
    spawnSync("mkfifo", [project.at("pipe")]);
    await workspace.run({ command: ["sh", "-c", "echo short > big; rm pipe; echo text > pipe; echo 2 > a"] });
    const undone = await workspace.undo();
    expect(project.read("big")).toBe("short\n");
    expect(project.read("pipe")).toBe("text\n");
    expect(project.read("a")).toBe("1\n");
    expect(undone.skipped).toEqual([
      { path: "big", reason: "unseen", detail: "it could not be captured then (too large), so it may have been there" },
      { path: "pipe", reason: "unseen", detail: "it could not be captured then (special), so it may have been there" },
    ]);
  });

  it("undo leaves a path that the rules of the last capture before the run excluded", async () => {
    await using project = new Project();
    project.write("a", "1\n");
    const workspace = await project.init();
    project.write(".gitignore", ".env\n");
    project.write(".env", "SECRET=1\n");
    // Records the rules, but not the paths that they exclude.
    await workspace.run({ command: ["true"] });
    await workspace.run({ command: ["sh", "-c", "rm .gitignore; echo 2 > a"] });
    const undone = await workspace.undo();
    expect(project.read(".env")).toBe("SECRET=1\n");
    expect(undone.skipped).toMatchObject([{ path: ".env" }]);
  });

  it("undo leaves a path that .git/info/exclude excluded, although that file is not recorded", async () => {
    await using project = new Project();
    project.write("a", "1\n");
    mkdirSync(project.at(".git/info"), { recursive: true });
    const workspace = await project.init();
    project.write(".git/info/exclude", "*.secret\n");
    project.write("key.secret", "k\n");
    await workspace.run({ command: ["sh", "-c", "rm .git/info/exclude; echo 2 > a"] });
    const undone = await workspace.undo();
    expect(project.read("key.secret")).toBe("k\n");
    expect(undone.skipped).toMatchObject([{ path: "key.secret" }]);
  });

  it("undo removes an excluded path that the action's own scan had seen to be absent", async () => {
    await using project = new Project();
    project.write(".gitignore", "build/\n.env\n");
    project.write("a", "1\n");
    const workspace = await project.init();
    for (const path of [".env", "build/deep/out.txt"])
      await workspace.action({ type: "write_file", payload: { path }, turn: "t", session: "s" }, () =>
        project.write(path, "made by the tool\n"),
      );
    const undone = await workspace.undo({ turn: "last" });
    expect(undone.skipped).toEqual([]);
    expect(existsSync(project.at(".env"))).toBe(false);
    expect(existsSync(project.at("build"))).toBe(false);
  });

  it("an excluded folder stays, although undo removes the action's file in it", async () => {
    await using project = new Project();
    project.write(".gitignore", "build/\n");
    const workspace = await project.init();
    mkdirSync(project.at("build"));
    await workspace.action({ type: "write_file", payload: { path: "build/out.txt" } }, () =>
      project.write("build/out.txt", "made by the tool\n"),
    );
    const undone = await workspace.undo();
    expect(existsSync(project.at("build/out.txt"))).toBe(false);
    expect(existsSync(project.at("build"))).toBe(true);
    // No undo is about the folder, because it was never recorded.
    expect(undone.skipped).toEqual([]);
  });

  it("undo over MCP", async () => {
    await using mcp = await McpProject.start((project) => plant((path, content) => project.write(path, content)));
    const workspace = await mcp.project.open();
    const id = await checkoutAction(workspace, () => {
      rmSync(mcp.project.at(".gitignore"));
      mcp.project.write("a", "old\n");
      mcp.project.write("made", "made\n");
    });
    await workspace.close();
    const undone = await mcp.client.call("undo", { action: id });
    expect(mcp.project.read(".env")).toBe("SECRET=1\n");
    expect(existsSync(mcp.project.at("made"))).toBe(false);
    expect(undone.text).toContain(".env");
    expect(undone.text).toContain("it was excluded then, so it may have been there");
  });
});
