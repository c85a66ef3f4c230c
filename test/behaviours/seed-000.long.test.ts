import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActionShape } from "../../src/api/action-shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { canonicalJson } from "../../src/core/values/canonical-json.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";

/** The tests that the system of seed 000 has for its snapshots, its audit log and its hashes. */

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function before(workspace: WorkspaceApi, path: string, more: object = {}): Promise<ActionShape> {
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path }, ...more });
  if (action === null) throw new Error(`no snapshot was made before writing ${path}`);
  return action;
}

/** Every file of the store, the configuration and the project, with the hash of its bytes. */
function bytesOf(project: Project): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(project.base, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found[path] = createHash("sha256").update(readFileSync(path)).digest("hex");
  }
  return found;
}

function logFile(project: Project, workspace: WorkspaceApi): string {
  return join(project.home, "workspaces", workspace.id, "events.wal");
}

describe("chronicle", () => {
  test("snapshot before write copies the original bytes and lists exactly 1 file", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await before(workspace, "main.go");
    project.write("main.go", "broken");
    expect(action.files_backed_up).toEqual(["main.go"]);
    const [{ hash } = { hash: "" }] = await workspace.history("main.go");
    expect(hash).toBe(sha256("package main\n"));
    const kept: Uint8Array[] = [];
    for await (const piece of (await workspace.cat("main.go", 1)).pieces()) kept.push(piece);
    expect(Buffer.concat(kept).toString()).toBe("package main\n");
  });

  test("snapshot metadata has a non-empty hash and the action type", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await before(workspace, "main.go");
    expect(action.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(action).toMatchObject({
      action_type: "write_file",
      action_summary: "write_file: main.go",
      previous_hash: "",
    });
    expect(action.id).toMatch(UUID_V4);
    expect(Date.parse(action.timestamp)).toBeGreaterThan(Date.now() - 60_000);
    const [event] = await workspace.log({ from: action.seq, to: action.seq });
    expect(event?.hash).toBe(action.hash);
  });

  test("rollback after a modification restores the original bytes", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await before(workspace, "main.go");
    project.write("main.go", "broken");
    await workspace.finishAction(action.id);
    const result = await workspace.rollback(action.id.slice(0, 8));
    expect(project.read("main.go")).toBe("package main\n");
    expect(result.changes).toMatchObject([{ path: "main.go", change_type: "modified" }]);
    await workspace.undo();
    expect(project.read("main.go")).toBe("broken");
  });

  test('diff reports "modified" after an edit; "deleted" after removal; nothing if equal', async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await before(workspace, "main.go");
    expect((await workspace.diff(action.id)).changes).toEqual([]);
    project.write("main.go", "edited");
    expect(await workspace.diff(action.id)).toMatchObject({
      from: action.id,
      to: "",
      changes: [
        {
          path: "main.go",
          change_type: "modified",
          before_hash: sha256("package main\n"),
          after_hash: sha256("edited"),
          size_bytes: 6,
        },
      ],
    });
    project.remove("main.go");
    expect((await workspace.diff(action.id)).changes).toMatchObject([
      { path: "main.go", change_type: "deleted", after_hash: "", size_bytes: 0 },
    ]);
  });

  test("three snapshots chain and verify", async () => {
    await using project = new Project();
    project.write("main.go", "0");
    const workspace = await project.init();
    for (const content of ["1", "2", "3"]) {
      const action = await before(workspace, "main.go");
      project.write("main.go", content);
      await workspace.finishAction(action.id);
    }
    const [first, second, third] = await workspace.list();
    expect(first?.previous_hash).toBe("");
    expect(second?.previous_hash).toBe(first?.hash);
    expect(third?.previous_hash).toBe(second?.hash);
    await workspace.verifyIntegrity();
  });

  test("retention max=3 after 5 snapshots leaves <= 3 (and still verifies)", async () => {
    await using project = new Project();
    project.write("main.go", "0");
    const store = await project.store({ retention: { max_snapshots: 3 } });
    const { workspace } = await store.init({ roots: [project.folder] });
    for (const content of ["1", "2", "3", "4", "5"]) {
      const action = await before(workspace, "main.go");
      project.write("main.go", content);
      await workspace.finishAction(action.id);
    }
    const kept = await workspace.list();
    expect(kept.length).toBeLessThanOrEqual(3);
    expect(kept.length).toBeGreaterThan(0);
    await workspace.verifyIntegrity();
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });

  test("read actions create no snapshot", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const head = await workspace.head();
    for (const type of ["read_file", "list_directory", "search_files"])
      expect(await workspace.snapshotAction({ type, payload: { path: "main.go" } })).toBeNull();
    expect(await workspace.list()).toEqual([]);
    expect((await workspace.head()).seq).toBe(head.seq);
  });

  test("a write to a file that does not exist creates no backup: it records a creation, so that undo removes it", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await before(workspace, "new/deep/file.go");
    expect(action.files_backed_up).toEqual(["new/deep/file.go"]);
    project.write("new/deep/file.go", "package deep\n");
    const end = await workspace.finishAction(action.id);
    expect(end.changes.map((one) => one.path)).toEqual(["new", "new/deep", "new/deep/file.go"]);
    expect((await workspace.diff(action.id)).changes).toMatchObject([{ change_type: "created", before_hash: "" }]);
    await workspace.rollback(action.id);
    expect(Object.keys(project.tree())).toEqual(["main.go"]);
    expect(await workspace.snapshotAction({ type: "delete_file", payload: { path: "no-such" } })).toBeNull();
  });

  test("an unknown snapshot id is a not-found error", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const unknown = "00000000-0000-4000-8000-000000000000";
    for (const ask of [
      () => workspace.rollback(unknown),
      () => workspace.diff(unknown),
      () => workspace.showAction(unknown),
      () => workspace.finishAction(unknown),
      () => workspace.rollback(""),
      () => workspace.rollback("%"),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("an agent overwrites a file, and list shows the snapshot", async () => {
    await using project = new Project();
    project.write("src/main.go", "package main\n");
    const workspace = await project.init();
    const answer = await workspace.action({ type: "write_file", payload: { path: project.at("src/main.go") } }, () => {
      project.write("src/main.go", "package other\n");
      return 42;
    });
    expect(answer).toBe(42);
    expect(await workspace.list()).toMatchObject([
      { action_summary: "write_file: src/main.go", state: "done", changed: 1, files_backed_up: ["src/main.go"] },
    ]);
  });
});

describe("audit", () => {
  test("the log file is created, and its entries chain", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    await before(workspace, "a");
    const lines = readFileSync(logFile(project, workspace), "utf8").trimEnd().split("\n");
    let last = "";
    for (const line of lines) {
      const event = JSON.parse(line) as { hash: string; prev_hash: string };
      expect(event.prev_hash).toBe(last);
      last = event.hash;
    }
    expect(lines.length).toBeGreaterThan(2);
  });

  test("a valid log verifies", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "a" } }, () => project.write("a", "2"));
    await expect(workspace.verifyIntegrity()).resolves.toBeUndefined();
  });

  test("a tampered entry is detected", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "a" } }, () => project.write("a", "2"));
    const file = logFile(project, workspace);
    await workspace.close();
    writeFileSync(file, readFileSync(file, "utf8").replace("write_file: a", "write_file: b"));
    const again = await project.open({ readOnly: true });
    await expect(again.verifyIntegrity()).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
  });

  test("an empty log verifies: a workspace with no action", async () => {
    await using project = new Project();
    const workspace = await project.init();
    expect(await workspace.list()).toEqual([]);
    await expect(workspace.verifyIntegrity()).resolves.toBeUndefined();
  });

  test("filter by event type and by session", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    for (const session of ["one", "two", "one"]) {
      const action = await before(workspace, "a", { session });
      project.write("a", `${session}${action.id}`);
      await workspace.finishAction(action.id);
    }
    const events = await workspace.log({ prefix: "action:" });
    expect(events).toHaveLength(6);
    expect((await workspace.list()).filter((one) => one.session === "one")).toHaveLength(2);
    expect((await workspace.changes({ session: "two" })).actions).toHaveLength(1);
  });

  test("the chain continues after a restart", async () => {
    await using project = new Project();
    project.write("a", "1");
    const first = await project.init();
    await before(first, "a");
    await first.close();
    const second = await project.open();
    await before(second, "a");
    const [one, two] = await second.list();
    expect(two?.previous_hash).toBe(one?.hash);
    rmSync(join(project.home, "workspaces", second.id, "index.db"), { force: true });
    await second.verifyIntegrity();
  });

  test("all event types round trip", async () => {
    await using project = new Project();
    project.write("a", "1");
    project.write("dir/b", "1");
    const workspace = await project.init();
    const types = [
      { type: "write_file", payload: { path: "a" } },
      { type: "delete_file", payload: { path: "a" } },
      { type: "move_file", payload: { source: "a", destination: "c" } },
      { type: "copy_file", payload: { source: "a", destination: "c" } },
      { type: "create_directory", payload: { path: "made" } },
      { type: "delete_directory", payload: { path: "dir" } },
      { type: "move_directory", payload: { source: "dir", destination: "moved" } },
      { type: "run_command", payload: { command: "rm -rf dir" } },
      { type: "some_other_tool", payload: {} },
    ];
    for (const request of types) {
      const action = await workspace.snapshotAction({
        ...request,
        actor: "me",
        session: "s",
        turn: "t",
        toolCall: "c",
        depth: 2,
      });
      expect(action, request.type).not.toBeNull();
      expect(await workspace.showAction(action?.id ?? "")).toEqual(action);
      expect(action).toMatchObject({
        actor: "me",
        session: "s",
        turn: "t",
        tool_call: "c",
        recursion_depth: 2,
        state: "open",
      });
      const end = await workspace.finishAction(action?.id ?? "", { outcome: "failed", reason: "no" });
      expect(end.action).toMatchObject({ state: "failed", reason: "no", recursion_depth: 2, hash: action?.hash });
    }
    expect((await workspace.list()).map((one) => one.action_type)).toEqual(types.map((one) => one.type));
  });
});

describe("off the record", () => {
  test("nothing is stored, at all", async () => {
    await using project = new Project();
    project.write("secret.txt", "one");
    const workspace = await project.init();
    project.write("secret.txt", "two");
    const bytes = bytesOf(project);
    for (const type of ["write_file", "run_command", "anything"]) {
      const request = {
        type,
        payload: { path: "secret.txt", command: "cat secret.txt" },
        otr: true,
        session: "hidden",
      };
      expect(await workspace.snapshotAction(request)).toBeNull();
      expect(await workspace.action(request, () => "done")).toBe("done");
    }
    expect(bytesOf(project)).toEqual(bytes);
  });
});

describe("canonical", () => {
  test("SHA-256 known vector", () => {
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });

  test("deterministic; key order ignored at every nesting level", () => {
    const one = canonicalJson({ a: { x: 1, y: [{ p: 1, q: 2 }] }, b: 2 });
    expect(canonicalJson({ b: 2, a: { y: [{ q: 2, p: 1 }], x: 1 } })).toBe(one);
    expect(canonicalJson({ a: { x: 1, y: [{ p: 1, q: 2 }] }, b: 2 })).toBe(one);
  });

  test("different payload or type gives a different hash", async () => {
    await using project = new Project();
    project.write("a", "1");
    project.write("b", "1");
    const workspace = await project.init();
    const hashes = new Set<string>();
    for (const type of ["write_file", "delete_file"])
      for (const path of ["a", "b"])
        hashes.add((await workspace.snapshotAction({ type, payload: { path } }))?.hash ?? "");
    expect(hashes.size).toBe(4);
  });

  test("ids are UUID v4 and unique", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    const ids = new Set<string>();
    for (let i = 0; i < 20; i += 1) ids.add((await before(workspace, "a")).id);
    expect(ids.size).toBe(20);
    for (const id of ids) expect(id).toMatch(UUID_V4);
  });
});
