import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { open } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";

/** A workspace whose index somebody changes while nothing runs. */
class Changed extends Project {
  id = "";

  /** Three versions of two files in a folder, a file that came later, and an operation that can be undone. */
  async live(): Promise<this> {
    this.write("src/a.txt", "a one\n");
    this.write("src/b.txt", "b one\n");
    this.write("other/c.txt", "c one\n");
    await using workspace = await closing(this, true);
    this.id = workspace.id;
    this.write("src/a.txt", "a two\n");
    this.write("src/b.txt", "b two\n");
    await workspace.snapshot();
    this.write("src/a.txt", "a three\n");
    this.write("src/d.txt", "d one\n");
    await workspace.snapshot();
    return this;
  }

  get indexFile(): string {
    return join(this.home, "workspaces", this.id, "index.db");
  }

  /** Runs SQL on the index; nothing has it open. */
  sql(text: string, ...cells: readonly (string | number | Buffer)[]): void {
    const db = new DatabaseSync(this.indexFile);
    try {
      const { changes } = db.prepare(text).run(...cells);
      if (Number(changes) === 0) throw new Error(`${text} changed nothing`);
    } finally {
      db.close();
    }
  }

  /** Gives every iteration of one file the content of the other, and the other way around. */
  swap(one: string, other: string, where = "1 = 1"): void {
    const db = new DatabaseSync(this.indexFile);
    const rows = db
      .prepare(`SELECT seq, name, hash, size FROM iterations WHERE name IN (?, ?) AND ${where}`)
      .all(Buffer.from(one), Buffer.from(other));
    const of = (name: string) => rows.filter((row) => Buffer.from(row["name"] as Uint8Array).toString() === name);
    const set = db.prepare("UPDATE iterations SET hash = ?, size = ? WHERE name = ? AND seq = ?");
    let changed = 0;
    for (const [name, others] of [[one, of(other)] as const, [other, of(one)] as const]) {
      for (const [i, row] of of(name).entries()) {
        const from = others[i];
        if (from === undefined) continue;
        changed += Number(
          set.run(from["hash"] as Uint8Array, from["size"] as number, Buffer.from(name), row["seq"] as number).changes,
        );
      }
    }
    db.close();
    if (changed === 0) throw new Error("nothing was swapped");
  }
}

async function closing(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

async function textOf(content: { pieces(): AsyncIterable<Uint8Array> }): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content.pieces())).toString();
}

const FIRST = { "src/a.txt": "a one\n", "src/b.txt": "b one\n", "other/c.txt": "c one\n" };

/** How an index can lie about the first state. */
const LIES: readonly (readonly [string, (project: Changed) => void])[] = [
  ["contents are swapped", (project) => project.swap("a.txt", "b.txt", "seq = 3")],
  [
    "an old state is gone",
    (project) => project.sql("DELETE FROM iterations WHERE name = ? AND seq = 3", Buffer.from("a.txt")),
  ],
  [
    "the last state is gone",
    (project) => {
      const last = "(SELECT max(seq) FROM iterations WHERE name = ?)";
      const name = Buffer.from("b.txt");
      project.sql(`DELETE FROM iterations WHERE name = ? AND seq = ${last}`, name, name);
    },
  ],
  ["a mode is wrong", (project) => project.sql("UPDATE iterations SET mode = 511 WHERE seq = 3 AND kind = 1")],
  [
    "a name is wrong",
    (project) =>
      project.sql("UPDATE iterations SET name = ? WHERE name = ?", Buffer.from("x.txt"), Buffer.from("a.txt")),
  ],
  [
    "a folder has another name",
    (project) => project.sql("UPDATE folders SET name = ? WHERE name = ?", Buffer.from("gone"), Buffer.from("src")),
  ],
  [
    "a folder is within itself",
    (project) => project.sql("UPDATE folders SET parent = id WHERE name = ?", Buffer.from("src")),
  ],
  [
    "contents and folder hashes are wrong",
    (project) => {
      project.swap("a.txt", "b.txt", "seq = 3");
      project.sql("UPDATE tree SET hash = zeroblob(32)");
    },
  ],
];

const FIRST_OF_D = "name = ? AND seq = (SELECT min(seq) FROM iterations WHERE name = ?)";
const D = Buffer.from("d.txt");

/** How an index can hide that a file was there before it was deleted. */
const HIDING: readonly (readonly [string, (project: Changed) => void])[] = [
  ["its state before is gone", (project) => project.sql(`DELETE FROM iterations WHERE ${FIRST_OF_D}`, D, D)],
  [
    "its state before has another name",
    (project) => project.sql(`UPDATE iterations SET name = x'787878' WHERE ${FIRST_OF_D}`, D, D),
  ],
  [
    "its state before is a deletion",
    (project) => project.sql(`UPDATE iterations SET kind = 0 WHERE ${FIRST_OF_D}`, D, D),
  ],
  [
    "all its states have another name",
    (project) => project.sql("UPDATE iterations SET name = x'787878' WHERE name = ?", D),
  ],
  ["it was never deleted", (project) => project.sql("DELETE FROM iterations WHERE name = ? AND kind = 0", D)],
];

/** Operations that delete `src/d.txt`, and how it comes back. */
const TAKING_BACK: readonly (readonly [
  string,
  (project: Changed, workspace: WorkspaceApi) => Promise<unknown>,
  (workspace: WorkspaceApi, action: string) => Promise<readonly { readonly path: string }[]>,
])[] = [
  [
    "undo of a restore",
    (_, workspace) => workspace.restore("1"),
    async (workspace) => (await workspace.undo()).changes,
  ],
  ["undo of an action", deletedByAction, async (workspace) => (await workspace.undo()).changes],
  ["undo of an actor's work", deletedByAction, async (workspace) => (await workspace.undo({ actor: "ann" })).changes],
  [
    "undo of the work since a moment",
    deletedByAction,
    async (workspace) => (await workspace.undo({ since: "seq:7" })).changes,
  ],
  ["rollback of an action", deletedByAction, async (workspace, id) => (await workspace.rollback(id)).changes],
];

/** Deletes `src/d.txt` in an action. Returns the action's id. */
async function deletedByAction(project: Changed, workspace: WorkspaceApi): Promise<string> {
  const request = { type: "run_command", actor: "ann", payload: { command: "rm src/d.txt" } };
  return workspace.action(request, (action) => {
    project.remove("src/d.txt");
    return action?.id ?? "";
  });
}

describe("Truth 15: derived data is proved before it is written or served", () => {
  test.each(LIES)("restore of the baseline writes the right files where %s", async (_, lie) => {
    await using project = await new Changed().live();
    lie(project);
    await using workspace = await closing(project);
    await workspace.restore("0");
    for (const [path, text] of Object.entries(FIRST)) expect(project.read(path), path).toBe(text);
    expect(Object.keys(project.tree())).not.toContain("src/d.txt");
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test.each(LIES)("restore into another folder writes the right files where %s", async (_, lie) => {
    await using project = await new Changed().live();
    lie(project);
    await using workspace = await closing(project);
    const to = join(project.base, "elsewhere");
    await workspace.restore("0", { to });
    for (const [path, text] of Object.entries(FIRST)) expect(readFileSync(join(to, path), "utf8"), path).toBe(text);
    expect(Object.keys(project.tree(to)).filter((path) => path.endsWith(".txt"))).toHaveLength(3);
  });

  test.each(LIES)("the right contents of earlier states and of the last one are served where %s", async (_, lie) => {
    await using project = await new Changed().live();
    lie(project);
    await using workspace = await closing(project);
    expect(await textOf(await workspace.cat("src/a.txt", 1))).toBe("a one\n");
    expect(await textOf(await workspace.file("src/b.txt", { at: "0" }))).toBe("b one\n");
    expect(await textOf(await workspace.file("src/b.txt"))).toBe("b two\n");
    expect(await textOf(await workspace.cat("src/a.txt"))).toBe("a three\n");
    const { size } = await workspace.file("src/a.txt", { iteration: 2 });
    expect(size).toBe(6);
  });

  test.each(LIES)("undo of a restore writes the right files where %s", async (_, lie) => {
    await using project = await new Changed().live();
    {
      await using workspace = await closing(project);
      await workspace.restore("1");
      expect(project.read("src/a.txt")).toBe("a two\n");
    }
    project.swap("a.txt", "b.txt", "seq > 2");
    lie(project);
    await using workspace = await closing(project);
    await workspace.undo();
    expect(project.read("src/a.txt")).toBe("a three\n");
    expect(project.read("src/b.txt")).toBe("b two\n");
    expect(project.read("src/d.txt")).toBe("d one\n");
  });

  describe.each(HIDING)("a file that an operation deleted, where %s,", (_, lie) => {
    test.each(TAKING_BACK)("comes back with %s", async (__, work, back) => {
      await using project = await new Changed().live();
      let action = "";
      {
        await using workspace = await closing(project);
        action = String(await work(project, workspace));
        expect(Object.keys(project.tree())).not.toContain("src/d.txt");
      }
      lie(project);
      await using workspace = await closing(project);
      const changes = await back(workspace, action);
      expect(changes.map(({ path }) => path)).toContain("src/d.txt");
      expect(project.read("src/d.txt")).toBe("d one\n");
    });
  });

  test.each(HIDING)("a dry run of an undo names a deleted file where %s", async (_, lie) => {
    await using project = await new Changed().live();
    {
      await using workspace = await closing(project);
      await workspace.restore("1");
    }
    lie(project);
    await using workspace = await closing(project);
    const { changes } = await workspace.undo({ dryRun: true });
    expect(changes.map(({ path }) => path)).toContain("src/d.txt");
  });

  test.each(LIES)("the last content is served where %s and the last state is swapped", async (_, lie) => {
    await using project = await new Changed().live();
    project.swap("a.txt", "b.txt", "seq > 2");
    lie(project);
    await using workspace = await closing(project);
    expect(await textOf(await workspace.file("src/b.txt"))).toBe("b two\n");
    expect(await textOf(await workspace.file("src/a.txt"))).toBe("a three\n");
  });

  test.each(LIES)("verify finds the index wrong where %s, and rebuild mends it", async (_, lie) => {
    await using project = await new Changed().live();
    lie(project);
    await using workspace = await closing(project);
    const found = await workspace.verify();
    expect(found.ok).toBe(false);
    expect(found.problems.map((one) => one.kind)).toContain("index-wrong");
    await workspace.rebuild();
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("verify finds a top folder that lies within another folder", async () => {
    await using project = await new Changed().live();
    project.sql("UPDATE folders SET parent = 3, name = x'78' WHERE id = 1");
    await using workspace = await closing(project);
    expect((await workspace.verify()).problems.map((one) => one.kind)).toContain("index-wrong");
    await workspace.rebuild();
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("verify finds folder hashes of an event that is still to come", async () => {
    await using project = await new Changed().live();
    project.sql("UPDATE tree SET seq = 1000 WHERE seq = (SELECT max(seq) FROM tree)");
    await using workspace = await closing(project);
    expect((await workspace.verify()).problems.map((one) => one.kind)).toContain("index-wrong");
    await workspace.rebuild();
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("a wrong size in the index is not served", async () => {
    await using project = await new Changed().live();
    project.sql("UPDATE iterations SET size = 3 WHERE kind = 1");
    await using workspace = await closing(project);
    const file = await workspace.file("src/a.txt");
    expect([file.size, await textOf(file)]).toEqual([8, "a three\n"]);
    const content = await workspace.cat("src/a.txt", 1);
    expect([content.size, await textOf(content)]).toEqual([6, "a one\n"]);
  });

  test("a wrong root in the log is damage, and a restore changes nothing", async () => {
    await using project = await new Changed().live();
    const log = join(project.home, "workspaces", project.id, "events.wal");
    const before = readFileSync(log, "utf8");
    // The chain is not sealed again, so that the line itself is found to be damaged.
    writeFileSync(log, before.replace(/"root":"[0-9a-f]{8}/, '"root":"00000000'));
    await using workspace = await closing(project);
    const tree = project.tree();
    await expect(workspace.restore("0")).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(project.tree()).toEqual(tree);
  });

  test("a restore continues the iterations of the log, not those of the index", async () => {
    await using project = await new Changed().live();
    const last = "(SELECT max(seq) FROM iterations WHERE name = ?)";
    const name = Buffer.from("b.txt");
    project.sql(`UPDATE iterations SET iteration = 18 WHERE name = ? AND seq = ${last}`, name, name);
    await using workspace = await closing(project);
    await workspace.restore("0");
    expect(project.read("src/b.txt")).toBe("b one\n");
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await workspace.history("src/b.txt")).map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
  });
});
