import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { parseLine, sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../src/core/values/event.ts";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { appendLeaf } from "../../src/core/log/log-tree.ts";
import { open } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";

/** A workspace that is closed; its log and its index are changed from outside. */
class Lived extends Project {
  id = "";
  root = "";

  async live(): Promise<this> {
    this.write("a.txt", "one\n");
    await using workspace = await opened(this, true);
    this.id = workspace.id;
    this.write("a.txt", "two\n");
    await workspace.snapshot();
    this.write("b.txt", "one\n");
    await workspace.snapshot();
    // The last event is one that is not read when the workspace is opened.
    await workspace.restore("1");
    this.root = (await workspace.status()).root;
    return this;
  }

  get indexFile(): string {
    return join(this.home, "workspaces", this.id, "index.db");
  }

  get logFile(): string {
    return join(this.home, "workspaces", this.id, "events.wal");
  }

  sql(text: string, ...cells: readonly (string | number | Buffer)[]): void {
    const db = new DatabaseSync(this.indexFile);
    try {
      if (Number(db.prepare(text).run(...cells).changes) === 0) throw new Error(`${text} changed nothing`);
    } finally {
      db.close();
    }
  }
}

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

/** The last event of the index is the one that the signed head names. */
const LAST = "seq = (SELECT max(seq) FROM events)";

const LIES: readonly (readonly [string, string])[] = [
  ["its hash is wrong", `UPDATE events SET hash = zeroblob(32) WHERE ${LAST}`],
  ["its offset is wrong", `UPDATE events SET offset = offset - 1 WHERE ${LAST}`],
  ["its offset is far behind the end of the log", `UPDATE events SET offset = offset + 1000000 WHERE ${LAST}`],
  ["its offset means a base", `UPDATE events SET offset = -1 WHERE ${LAST}`],
  ["its length is wrong", `UPDATE events SET length = length + 1 WHERE ${LAST}`],
  ["its row is gone", `DELETE FROM events WHERE ${LAST}`],
];

async function expectSound(project: Lived): Promise<void> {
  await using workspace = await opened(project);
  const status = await workspace.status();
  expect(status).toMatchObject({ read_only: false, root: project.root, signing: { state: "signed" }, notes: [] });
  project.write("c.txt", "one\n");
  await workspace.snapshot();
  expect((await workspace.verify()).problems.filter(({ kind }) => kind !== "index-wrong")).toEqual([]);
}

describe("Truth 15: an index that is wrong about an event does not make the log look damaged", () => {
  test.each(LIES)("the event of the signed head: %s", async (_, lie) => {
    await using project = await new Lived().live();
    project.sql(lie);
    await expectSound(project);
  });

  test.each(LIES)("the last event of an index that is behind the log: %s", async (_, lie) => {
    await using project = await new Lived().live();
    const behind = join(project.base, "index.db");
    cpSync(project.indexFile, behind);
    {
      await using workspace = await opened(project);
      project.write("b.txt", "two\n");
      await workspace.snapshot();
      await workspace.restore("1");
      project.root = (await workspace.status()).root;
    }
    cpSync(behind, project.indexFile);
    project.sql(lie);
    await expectSound(project);
  });

  test.each(LIES)("a snapshot right after the workspace is opened is recorded: %s", async (_, lie) => {
    await using project = await new Lived().live();
    project.sql(lie);
    project.write("c.txt", "one\n");
    await using workspace = await opened(project);
    await workspace.snapshot();
    expect((await workspace.status()).signing.state).toBe("signed");
  });
});

/**
 * Forges the log: the event `at` gets another time, and the chain is sealed again from there. `more` is added to the
 * last event's record.
 */
function forgedLog(project: Lived, at: number, more?: string): SealedEvent[] {
  let head: Head = EMPTY_HEAD;
  const events: SealedEvent[] = [];
  const lines = readFileSync(project.logFile, "utf8").split("\n").slice(0, -1);
  for (const line of lines) {
    const event = parseLine(Buffer.from(line));
    const ts = event.seq === at ? "2001-01-01T00:00:00.000Z" : event.ts;
    const { op, recordId } = event;
    const isLast = more !== undefined && event.seq === lines.length;
    const record = isLast ? { ...event.record, more } : event.record;
    const sealed = sealEvents(head, [{ op, recordId, record }], ts)[0];
    if (sealed === undefined) throw new Error("no event");
    events.push(sealed);
    head = sealed;
  }
  writeFileSync(project.logFile, events.map(({ line }) => `${line}\n`).join(""));
  return events;
}

/** Makes the index match the forged log, except for the row of the last event, which the signed head names. */
function forgeIndex(project: Lived, events: readonly SealedEvent[]): void {
  const [last] = events.slice(-1);
  if (last === undefined) throw new Error("an empty log");
  let frontier: Hash[] = [];
  for (const [size, { hash }] of events.entries()) frontier = appendLeaf(frontier, size, hash);
  const offset = readFileSync(project.logFile).length;
  const check = sha256(`${last.seq} ${last.hash} ${offset} ${frontier.join(" ")}`);
  project.sql("UPDATE state SET hash = ?, frontier = ?", last.hash, [...frontier, check].join(" "));
  for (const { seq, hash, ts } of events.slice(0, -1))
    project.sql("UPDATE events SET hash = ?, ts = ? WHERE seq = ?", Buffer.from(hash, "hex"), ts, seq);
}

/** What is done last, so that the signed head names another kind of event each time. */
const LAST_DEEDS: readonly (readonly [string, (workspace: WorkspaceApi) => Promise<unknown>])[] = [
  ["a restore", (workspace) => workspace.restore("1")],
  ["a snapshot", (workspace) => workspace.snapshot({ name: "last" })],
  ["a file that was put", (workspace) => workspace.putFile("d.txt", Buffer.from("one\n"))],
  ["a record of a user", (workspace) => workspace.records.upsert("one", { text: "one" })],
];

describe("Truth 15: a log and an index that were forged together", () => {
  test.each(LAST_DEEDS)("are read-only, and nothing is recorded after %s", async (_, deed) => {
    await using project = await new Lived().live();
    {
      await using workspace = await opened(project);
      await deed(workspace);
    }
    forgeIndex(project, forgedLog(project, 5));
    await using workspace = await opened(project);
    project.write("c.txt", "one\n");
    await expect(workspace.snapshot()).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    const status = await workspace.status();
    expect(status).toMatchObject({ read_only: true, root: "", signing: { state: "read-only" } });
    expect((await workspace.verify()).ok).toBe(false);
  });
});

describe("Truth 15: a log that is replaced beneath an open workspace", () => {
  test.each(LAST_DEEDS)("is noticed by the next write and not changed, after %s", async (_, deed) => {
    await using project = await new Lived().live();
    await using workspace = await opened(project);
    await deed(workspace);
    // From the second status on, the signed head has been found in the log before.
    for (let n = 0; n < 2; n += 1) expect(await workspace.status()).toMatchObject({ read_only: false });
    await expect.poll(() => keptSeq(project), { timeout: 60_000 }).toBe((await workspace.status()).seq);
    await workspace.status();
    forgedLog(project, 5, "another text, which is of another length");
    const forged = readFileSync(project.logFile, "utf8");
    const write = workspace.records.upsert("two", { text: "two" });
    await expect(write).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    expect(await workspace.status()).toMatchObject({ read_only: true, root: "" });
    expect(readFileSync(project.logFile, "utf8")).toBe(forged);
  });
});

/** The seq of the signed head that is kept. */
function keptSeq(project: Lived): number {
  return Number(readFileSync(join(project.configFolder, "heads", project.id), "utf8").split("\n")[1]);
}
