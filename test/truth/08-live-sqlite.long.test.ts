import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** How many captures are taken beside a busy writer, in each mode. */
const CAPTURES = Number(process.env["SQLITE_CAPTURES"] ?? 40);

/**
 * Each transaction adds to some rows what it takes from others, on several pages, so that the sum over all rows stays
 * 0. `k` counts the transactions.
 */
const WRITER = `
  const { DatabaseSync } = require("node:sqlite");
  const [path, mode, rows] = process.argv.slice(1);
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.exec("PRAGMA journal_mode = " + mode + "; PRAGMA wal_autocheckpoint = 200; PRAGMA synchronous = OFF");
  db.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, n INTEGER, pad BLOB)");
  db.exec("CREATE TABLE IF NOT EXISTS k (n INTEGER)");
  db.exec("INSERT INTO k SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM k)");
  db.exec("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < " + rows + ") " +
    "INSERT OR IGNORE INTO t SELECT i, 0, randomblob(3000) FROM c");
  const any = () => 1 + Math.floor(Math.random() * rows);
  const move = (id, by) => "UPDATE t SET n = n + " + by + ", pad = randomblob(3000) WHERE id = " + id + ";";
  const step = () => db.exec("BEGIN IMMEDIATE; UPDATE k SET n = n + 1;" + move(any(), 1) + move(any(), -1) +
    move(any(), 2) + move(any(), -2) + "COMMIT");
  const go = () => {
    for (let i = 0; i < 4; i += 1) step();
    setTimeout(go, mode === "WAL" ? 1 : 10);
  };
  process.stdin.on("data", (text) => {
    if (!String(text).includes("once")) return go();
    step();
    process.stdout.write("done\\n");
  });
  process.stdout.write("ready\\n");
`;

/** A process that has a database of the project open. Killed when it is disposed of. */
class Writer implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(path: string, mode: "WAL" | "DELETE", rows = 60): Promise<Writer> {
    const child = spawn(process.execPath, ["-e", WRITER, path, mode, String(rows)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const writer = new Writer(child);
    await writer.#hears("ready");
    return writer;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  begin(): void {
    this.#child.stdin?.write("go\n");
  }

  /** One transaction. */
  async once(): Promise<void> {
    this.#child.stdin?.write("once\n");
    await this.#hears("done");
  }

  async #hears(word: string): Promise<void> {
    let text = "";
    while (!text.includes(word)) text += String((await once(this.#child.stdout ?? this.#child, "data"))[0]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** Returns what SQLite finds in a database and the files beside it: the number of transactions, or what is wrong. */
function soundness(path: string): number | string {
  try {
    const db = new DatabaseSync(path);
    try {
      const [check] = db.prepare("PRAGMA integrity_check").all();
      if (check?.["integrity_check"] !== "ok") return String(check?.["integrity_check"]);
      const [sum] = db.prepare("SELECT sum(n) AS n FROM t").all();
      if (sum?.["n"] !== 0) return `the sum is ${String(sum?.["n"])}: half a transaction`;
      return Number(db.prepare("SELECT n FROM k").get()?.["n"]);
    } finally {
      db.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const NAMES = ["app.db", "app.db-wal", "app.db-journal"] as const;

/** Puts the files of a moment into a folder of their own and lets SQLite look at them. */
async function soundnessAt(project: Project, workspace: WorkspaceApi, moment: string): Promise<number | string> {
  const folder = mkdtempSync(join(project.base, "look-"));
  await workspace.restore(moment, { to: join(folder, "files") });
  const found = soundness(join(folder, "files", "app.db"));
  rmSync(folder, { recursive: true });
  return found;
}

describe("Truth 8: an SQLite database with a busy writer", () => {
  it.each(["WAL", "DELETE"] as const)(
    "in %s mode is whole in each capture, or is listed as omitted",
    { timeout: 600_000 },
    async (mode) => {
      await using project = new Project();
      project.write("readme.txt", "0");
      const workspace = await project.init();
      await using writer = await Writer.start(project.at("app.db"), mode, 1_000);
      writer.begin();
      const taken: { readonly moment: string; readonly told: boolean }[] = [];
      for (let n = 0; n < CAPTURES; n += 1) {
        const { number, coverage } = await workspace.snapshot();
        taken.push({ moment: String(number), told: coverage.omitted.some(({ path }) => path.startsWith("app.db")) });
      }
      await writer[Symbol.asyncDispose]();
      const wrong: string[] = [];
      let whole = 0;
      for (const { moment, told } of taken) {
        const found = await soundnessAt(project, workspace, moment);
        if (typeof found === "number") whole += 1;
        else if (!told) wrong.push(`${moment}: ${found}`);
      }
      expect(wrong).toEqual([]);
      // Enough captures are whole. Otherwise each of them might list the database as omitted.
      expect(whole).toBeGreaterThan(CAPTURES / 4);
    },
  );
});

describe("Truth 8: an SQLite database and the files beside it", () => {
  async function killed(project: Project, steps: number): Promise<void> {
    await using writer = await Writer.start(project.at("app.db"), "WAL");
    for (let n = 0; n < steps; n += 1) await writer.once();
  }

  it("are not changed by a capture, and come back together; the -shm file is not recorded, and a restore removes it", async () => {
    await using project = new Project();
    await killed(project, 1);
    const before = NAMES.map((name) => (existsSync(project.at(name)) ? readFileSync(project.at(name), "hex") : ""));
    const workspace = await project.init();
    expect(NAMES.map((name) => (existsSync(project.at(name)) ? readFileSync(project.at(name), "hex") : ""))).toEqual(
      before,
    );
    expect(await workspace.find("app.db-shm")).toEqual([]);
    await killed(project, 3);
    await workspace.snapshot();
    await workspace.restore("baseline");
    expect(existsSync(project.at("app.db-shm"))).toBe(false);
    expect(soundness(project.at("app.db"))).toBe(1);
  });

  it.each([["app.db"], ["app.db-wal"]])("come back together if only %s is named", async (name) => {
    await using project = new Project();
    await killed(project, 2);
    const workspace = await project.init();
    await killed(project, 5);
    project.write("other.txt", "stays");
    await workspace.restore("baseline", { paths: [name] });
    expect(soundness(project.at("app.db"))).toBe(2);
    expect(project.read("other.txt")).toBe("stays");
  });

  it("are one unit although a rule leaves out the -wal file", async () => {
    await using project = new Project();
    project.write(".gitignore", "*-wal\n*-shm\n");
    await killed(project, 2);
    const workspace = await project.init();
    await killed(project, 4);
    await workspace.snapshot();
    await workspace.restore("baseline");
    expect(soundness(project.at("app.db"))).toBe(2);
  });

  it("are restored together: a -wal file that did not exist at the moment is removed", async () => {
    await using project = new Project();
    project.write(".gitignore", "*-wal\n*-shm\n");
    const db = new DatabaseSync(project.at("app.db"));
    db.exec(
      "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0); CREATE TABLE k (n INTEGER); INSERT INTO k VALUES (7)",
    );
    db.close();
    const workspace = await project.init();
    const live = new DatabaseSync(project.at("app.db"));
    live.exec("PRAGMA journal_mode = WAL; UPDATE k SET n = 8");
    await workspace.snapshot();
    await workspace.restore("baseline");
    live.close();
    expect(existsSync(project.at("app.db-wal"))).toBe(false);
    expect(soundness(project.at("app.db"))).toBe(7);
  });

  it("are restored with a note about a process that has the database open", async () => {
    await using project = new Project();
    await killed(project, 1);
    const told: string[] = [];
    const store = await project.store({ onNote: (note) => told.push(note) });
    const { workspace } = await store.init({ roots: [project.folder] });
    await using writer = await Writer.start(project.at("app.db"), "WAL");
    await writer.once();
    await workspace.restore("baseline");
    await workspace.close();
    expect(told.join("\n")).toMatch(new RegExp(`process ${writer.pid} has the earlier state of app\\.db open`));
  });

  it("are one unit, but files with such names are like other files if there is no database", async () => {
    await using project = new Project();
    project.write("notes", "no database");
    project.write("notes-journal", "one");
    project.write("notes-shm", "one");
    const workspace = await project.init();
    writeFileSync(project.at("notes-journal"), "two");
    writeFileSync(project.at("notes-shm"), "two");
    await workspace.restore("baseline", { paths: ["notes"] });
    expect(project.read("notes-journal")).toBe("two");
    await workspace.restore("baseline");
    expect([project.read("notes-journal"), project.read("notes-shm")]).toEqual(["one", "one"]);
  });
});
