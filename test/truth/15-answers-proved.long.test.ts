import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { open } from "../../src/open.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";
import { ReplicateProcess } from "../helpers/replicate-process.ts";
import { ServerProcess } from "../helpers/server-process.ts";

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

function sql(file: string, text: string): void {
  const db = new DatabaseSync(file);
  try {
    if (Number(db.prepare(text).run().changes) === 0) throw new Error(`${text} changed nothing`);
  } finally {
    db.close();
  }
}

const named = (name: string) => `CAST('${name}' AS BLOB)`;
const LAST_OF_A = `name = ${named("a.txt")} AND seq = (SELECT max(seq) FROM iterations WHERE name = ${named("a.txt")})`;

const LIES: readonly (readonly [string, string])[] = [
  ["a mode is wrong", `UPDATE iterations SET mode = 511 WHERE name = ${named("c.txt")}`],
  ["a content is wrong", `UPDATE iterations SET hash = zeroblob(32) WHERE name = ${named("c.txt")}`],
  ["the last state is gone", `DELETE FROM iterations WHERE ${LAST_OF_A}`],
  ["a file is gone", `DELETE FROM iterations WHERE name = ${named("c.txt")}`],
  ["a file has another name", `UPDATE iterations SET name = ${named("x.txt")} WHERE name = ${named("b.txt")}`],
  ["a number is wrong", `UPDATE iterations SET iteration = 9 WHERE ${LAST_OF_A}`],
  ["a size is wrong", `UPDATE iterations SET size = 1000 WHERE ${LAST_OF_A}`],
  ["all folder hashes are wrong", "UPDATE tree SET hash = zeroblob(32)"],
];

async function lived(project: Project): Promise<string> {
  project.write("src/a.txt", "a one\n");
  project.write("src/b.txt", "b one\n");
  project.write("other/c.txt", "c one\n");
  await using workspace = await opened(project, true);
  project.write("src/a.txt", "a two\n");
  project.remove("src/b.txt");
  await workspace.snapshot();
  project.write("src/b.txt", "b again\n");
  await workspace.snapshot();
  return join(project.home, "workspaces", workspace.id, "index.db");
}

async function answers(workspace: WorkspaceApi) {
  const pages = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await workspace.files({ limit: 2, ...(after === undefined ? {} : { after }) });
    pages.push(...page.files);
    after = page.next;
  }
  const { root } = await workspace.status();
  const direct = await workspace.files({ path: "src", depth: 1 });
  return {
    all: (await workspace.files()).files,
    first: (await workspace.files({ at: "0" })).files,
    pages,
    direct,
    root,
  };
}

describe("Truth 15: answers from the index are proved", () => {
  test.each(LIES)("listings and the root in status are right where %s", async (_, lie) => {
    await using project = new Project();
    const index = await lived(project);
    let before;
    {
      await using workspace = await opened(project);
      before = await answers(workspace);
      expect(before.pages).toEqual(before.all);
    }
    sql(index, lie);
    await using workspace = await opened(project);
    expect(await answers(workspace)).toEqual(before);
  });

  test.each(LIES)("the base of a compaction is right where %s", async (_, lie) => {
    await using project = new Project();
    sql(await lived(project), lie);
    await using workspace = await opened(project);
    await workspace.compact();
    expect((await workspace.verify()).problems.filter(({ kind }) => kind !== "index-wrong")).toEqual([]);
    await workspace.rebuild();
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test.each(LIES.slice(0, 5))(
    "a replica writes the right contents to its folder where %s",
    { timeout: 300_000 },
    async (_, lie) => {
      await using origin = new ServerProcess(["--replication"]);
      const files = { "a.txt": "a one\n", "b.txt": "b one\n", "c.txt": "c one\n" };
      for (const [path, text] of Object.entries(files)) writeFileSync(join(origin.project, path), text);
      await origin.start();
      await using box = new ReplicateProcess();
      const options = ["--connect", origin.socketUrl.slice("unix:".length)];
      await box.start(options);
      await flushed(box);
      expect(await box.kill("SIGINT")).toBe(0);
      // The origin gets newer states while the replica is away. The replica's index of the origin is changed before the
      // folder gets these states.
      await using there = await opened(placesOf(origin));
      for (const path of Object.keys(files)) await there.putFile(path, Buffer.from(`${path} two\n`));
      sql(join(box.home, "workspaces", box.id, "upstream", "index.db"), lie);
      await box.start(options);
      await flushed(box);
      for (const path of Object.keys(files)) expect(readFileSync(join(box.folder, path), "utf8")).toBe(`${path} two\n`);
      expect(await box.kill("SIGINT")).toBe(0);
      const words = [chronicleBin(), "--json", "verify"];
      const ran = spawnSync(process.execPath, words, { cwd: box.folder, env: box.env, encoding: "utf8" });
      const { problems } = JSON.parse(ran.stdout) as { problems: { kind: string }[] };
      expect(problems.filter(({ kind }) => kind !== "index-wrong")).toEqual([]);
      rmSync(box.folder, { recursive: true });
    },
  );
});

function placesOf({ home, configFolder, project }: ServerProcess): Project {
  return { home, configFolder, folder: project } as Project;
}

async function flushed(box: ReplicateProcess): Promise<void> {
  const here = createClient({ url: box.socketUrl });
  await here.syncs.flush(box.id, { timeoutMs: 120_000 });
  await here.close();
}
