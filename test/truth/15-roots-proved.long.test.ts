import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { open, openStore } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";

/** Runs SQL on the index of a workspace that nothing has open. */
function sql(home: string, id: string, text: string): void {
  const db = new DatabaseSync(join(home, "workspaces", id, "index.db"));
  try {
    if (Number(db.prepare(text).run().changes) === 0) throw new Error(`${text} changed nothing`);
  } finally {
    db.close();
  }
}

const named = (name: string) => `CAST('${name}' AS BLOB)`;
const OTHER = `(SELECT id FROM folders WHERE name = ${named("other")})`;

/** How an index can lie about folders and files that the next operation does not touch, and about those that it does. */
const LIES: readonly (readonly [string, string])[] = [
  ["all folder hashes are wrong", "UPDATE tree SET hash = zeroblob(32)"],
  ["the hash of an untouched folder is wrong", `UPDATE tree SET hash = zeroblob(32) WHERE folder = ${OTHER}`],
  ["the folder hashes are gone", "DELETE FROM tree"],
  ["folder hashes are said to be newer than they are", "UPDATE state SET tree_seq = 1000"],
  ["the mode of an untouched file is wrong", `UPDATE iterations SET mode = 511 WHERE name = ${named("c.txt")}`],
  ["an untouched file is gone", `DELETE FROM iterations WHERE name = ${named("c.txt")}`],
  ["no commit is said to state its root", "UPDATE commits SET rooted = 0"],
];

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

/** Files in two folders, one of which nothing touches any more, and an operation that can be undone. */
async function lived(project: Project): Promise<string> {
  project.write("src/a.txt", "a one\n");
  project.write("src/deep/b.txt", "b one\n");
  project.write("other/c.txt", "c one\n");
  await using workspace = await opened(project, true);
  project.write("src/a.txt", "a two\n");
  await workspace.snapshot();
  await workspace.restore("0");
  return workspace.id;
}

async function expectSound(workspace: WorkspaceApi): Promise<void> {
  const { problems } = await workspace.verify();
  expect(problems.filter(({ kind }) => kind !== "index-wrong")).toEqual([]);
  await workspace.rebuild();
  expect((await workspace.verify()).problems).toEqual([]);
}

const WORK: readonly (readonly [string, (workspace: WorkspaceApi, project: Project) => Promise<unknown>])[] = [
  ["undo", (workspace) => workspace.undo()],
  ["restore", (workspace) => workspace.restore("1")],
  ["write", (workspace) => workspace.putFile("src/new.txt", Buffer.from("new\n"))],
  [
    "snapshot",
    async (workspace, project) => {
      project.write("src/deep/b.txt", "b two\n");
      await workspace.snapshot();
    },
  ],
  ["run", (workspace) => workspace.run({ command: ["sh", "-c", "echo more >> src/deep/b.txt"] })],
  ["compact", (workspace) => workspace.compact()],
];

describe.each(LIES)("Truth 15: the log gets right roots where %s", (_, lie) => {
  test.each(WORK)("%s", async (_name, work) => {
    await using project = new Project();
    const id = await lived(project);
    sql(project.home, id, lie);
    await using workspace = await opened(project);
    await work(workspace, project);
    await expectSound(workspace);
  });

  test("a write in a hosted workspace", async () => {
    await using project = new Project();
    const { home, configFolder } = project;
    const options = { home, configFolder, waitMs: 5_000 };
    let id = "";
    {
      const store = await openStore(options);
      const { workspace } = await store.create({ name: "hosted" });
      for (const path of ["other/c.txt", "src/a.txt", "src/deep/b.txt"]) {
        await workspace.putFile(path, Buffer.from(path));
      }
      ({ id } = workspace);
      await workspace.close();
      await store.close();
    }
    sql(home, id, lie);
    const store = await openStore(options);
    const workspace = await store.openById(id);
    await workspace.putFile("src/a.txt", Buffer.from("two"));
    await expectSound(workspace);
    await workspace.close();
    await store.close();
  });
});
