import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { StatusShape, UndoShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";

/**
 * Writes rows as a program that is killed, so its `-wal` stays. With `ckpt`, all rows are copied into the database
 * first, and the `-wal` starts again. With `move`, they are only copied.
 */
const APP = `
import sqlite3, sys, os
c = sqlite3.connect("live.db", isolation_level=None)
c.execute("pragma journal_mode=wal"); c.execute("pragma wal_autocheckpoint=0")
c.execute("create table if not exists t(a, b)"); c.execute("create index if not exists i on t(b)")
for n in range(int(sys.argv[1])): c.execute("insert into t values(?, hex(randomblob(300)))", (n,))
if sys.argv[2] == "ckpt": c.execute("pragma wal_checkpoint(restart)"); c.execute("insert into t values(-1, 1)")
if sys.argv[2] == "move": c.execute("pragma wal_checkpoint(passive)")
os._exit(0)
`;

/** Writes rows until it is killed. If it finds a file `CKPT`, it copies all rows into the database. */
const WRITER = `
import sqlite3, time, os
c = sqlite3.connect("live.db", isolation_level=None); c.execute("pragma wal_autocheckpoint=0")
while True:
  c.execute("insert into t values(0, hex(randomblob(300)))")
  if os.path.exists("CKPT"): c.execute("pragma wal_checkpoint(restart)"); os.unlink("CKPT")
  with open("../rows.new", "w") as f: f.write(str(c.execute("select count(*) from t").fetchone()[0]))
  os.replace("../rows.new", "../rows")
  time.sleep(0.01)
`;

const CHECK = `
import sqlite3
try:
  c = sqlite3.connect("live.db")
  print(c.execute("select count(*) from t").fetchone()[0], *[one for (one,) in c.execute("pragma integrity_check")])
except Exception as e: print(e)
`;

/** Copies all rows into the database, and removes the files beside it. */
const TRUNCATE = `
import sqlite3
c = sqlite3.connect("live.db"); c.execute("pragma wal_checkpoint(truncate)"); c.close()
`;

const NAMES = ["live.db", "live.db-wal"];

/** A project with a database, which may lie in a folder of its own beside the project. */
class Box extends Sandbox {
  /** The folder of the database. */
  readonly home: string;

  constructor(rows = 200, beside = false) {
    super();
    this.write("a", "1\n");
    this.home = beside ? join(this.folder, "beside") : this.project;
    if (beside) mkdirSync(this.home);
    if (rows > 0) this.app(rows, "ckpt");
  }

  app(rows: number, then: "ckpt" | "move" | "leave"): void {
    const { status, stderr } = spawnSync("python3", ["-c", APP, String(rows), then], {
      cwd: this.home,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(stderr);
  }

  /** The number of rows, and what SQLite says of a copy of the database. */
  get check(): string {
    return this.checkIn(this.home);
  }

  checkIn(place: string): string {
    const folder = mkdtempSync(join(this.folder, "look-"));
    for (const name of readdirSync(place))
      if (name.startsWith("live.db")) cpSync(join(place, name), join(folder, name));
    return spawnSync("python3", ["-c", CHECK], { cwd: folder, encoding: "utf8" }).stdout.trim();
  }

  python(script: string): readonly string[] {
    return ["env", "-C", this.home, "python3", "-c", script];
  }

  /** Records everything two seconds after it was changed, so that stats alone prove what is unchanged. */
  async settled(init: readonly string[]): Promise<void> {
    await this.must(["init", ...init]);
    await delay(2_200);
    await this.must(["snapshot"]);
  }

  /**
   * Returns what SQLite says of the database in the last snapshot. `folder` is the database's folder in that
   * snapshot.
   */
  async latest(folder = ""): Promise<string> {
    const to = mkdtempSync(join(this.folder, "latest-"));
    await this.must(["restore", "latest", "--to", to]);
    return this.checkIn(join(to, folder));
  }

  async hook(event: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const input = { session_id: "s70", cwd: this.project, hook_event_name: event, prompt_id: "t1", ...more };
    await this.must(["hook", "claude", "--direct"], { input: JSON.stringify(input) });
  }
}

/** A program that has the database open and writes rows until it is disposed of, which kills it. */
class Writer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #told: string;

  constructor(box: Box) {
    this.#told = join(box.folder, "rows");
    this.#child = spawn("python3", ["-c", WRITER], { cwd: box.project, stdio: "inherit" });
  }

  /** The number of rows that the program knows to be written. */
  get rows(): number {
    return Number(readFileSync(this.#told, "utf8"));
  }

  async begun(): Promise<void> {
    await vi.waitUntil(() => existsSync(this.#told), 60_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** A command that edits a file while the writer copies its rows into the database. */
const EDIT = "echo 2 > a; touch CKPT; while [ -e CKPT ]; do sleep 0.05; done; sleep 0.2";

function left(value: unknown): Record<string, string> {
  return Object.fromEntries((value as UndoShape).skipped.map(({ path, detail = "" }) => [path, detail]));
}

describe("An SQLite database and its -wal go back together or stay together", () => {
  it.each(NAMES)("undo --file %s undoes both", async (name) => {
    using box = new Box();
    await box.must(["init"]);
    box.run(["run", "--", ...box.python(APP), "300", "ckpt"]);
    expect(box.check).toBe("502 ok");
    const foreseen = await box.must(["undo", "--file", name, "--dry-run"]);
    for (const one of NAMES) expect(foreseen.stdout).toContain(`~ ${one} `);
    await box.must(["undo", "--file", name, "--yes"]);
    expect(box.check).toBe("201 ok");
    await box.must(["redo", "--yes"]);
    expect(box.check).toBe("502 ok");
  });

  it("an agent's turn: both stay if the program has written rows since, and rollback and restore bring both back", async () => {
    using box = new Box();
    await box.must(["init"]);
    const call = { tool_name: "Bash", tool_use_id: "c1", tool_input: { command: "python3 app.py" } };
    await box.hook("PreToolUse", call);
    box.app(300, "ckpt");
    box.write("a", "2\n");
    await box.hook("PostToolUse", { ...call, tool_response: {} });
    await box.hook("Stop");
    box.app(50, "leave");
    const foreseen = await box.json(["undo", "--turn", "last", "--dry-run"]);
    const { code, value } = await box.json(["undo", "--turn", "last", "--yes"]);
    expect([foreseen.code, code]).toEqual([1, 1]);
    expect(left(foreseen.value)).toEqual(left(value));
    expect(Object.keys(left(value))).toEqual(NAMES);
    expect(left(value)["live.db"]).toMatch(/^its database is one unit with live\.db-wal: /);
    const [, again = ""] = /`chronicle (restore seq:\d+ :\/live\.db-wal)`/.exec(left(value)["live.db"] ?? "") ?? [];
    expect([box.check, readFileSync(join(box.project, "a"), "utf8")]).toEqual(["552 ok", "1\n"]);
    expect((await box.json(["conflicts"])).value).toEqual([]);
    await box.must(["rollback", "c1", "--yes"]);
    expect(box.check).toBe("201 ok");
    await box.must(["undo", "--yes"]);
    expect(box.check).toBe("552 ok");
    await box.must([...again.split(" "), "--yes"]);
    expect(box.check).toBe("201 ok");
    await box.hook("SessionEnd");
  });

  it("undo and redo of a run that changed only the database count a -wal that was written since as an edit", async () => {
    using box = new Box(0);
    box.app(100, "ckpt");
    box.app(100, "leave");
    await box.must(["init"]);
    box.run(["run", "--", ...box.python(APP), "0", "move"]);
    expect((await box.json(["show", "--turn", "last"])).code).not.toBe(0);
    box.app(10, "ckpt");
    const refused = await box.call(["undo", "--exact", "--yes"]);
    expect([refused.code, box.check]).toEqual([6, "212 ok"]);
    for (const name of NAMES) expect(refused.stderr).toContain(name);
    expect((await box.call(["undo", "--dry-run"])).code).toBe(1);
    await box.must(["undo", "--force", "--yes"]);
    expect(box.check).toBe("201 ok");
    box.app(5, "ckpt");
    const again = await box.call(["redo", "--yes"]);
    expect([again.code, box.check]).toEqual([6, "207 ok"]);
  });

  it("undo of a run while a program writes leaves both, and undoes the rest", async () => {
    using box = new Box();
    await box.must(["init"]);
    await using writer = new Writer(box);
    await writer.begun();
    expect(box.run(["run", "--", "sh", "-c", EDIT]).code).toBe(0);
    const foreseen = await box.json(["undo", "--dry-run"]);
    const { code, value } = await box.json(["undo", "--yes"]);
    expect([foreseen.code, code]).toEqual([1, 1]);
    const { rows } = writer;
    await writer[Symbol.asyncDispose]();
    expect(Object.keys(left(foreseen.value))).toEqual(NAMES);
    expect(Object.keys(left(value))).toEqual(NAMES);
    expect(left(value)["live.db"]).toMatch(/^its database is one unit with live\.db-wal: /);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("1\n");
    const [found = "", said] = box.check.split(" ");
    expect(said).toBe("ok");
    expect(Number(found)).toBeGreaterThanOrEqual(rows);
  });

  it("the rollback of a failed run while a program writes leaves both, too", async () => {
    using box = new Box();
    await box.must(["init"]);
    await using writer = new Writer(box);
    await writer.begun();
    const { code, stderr } = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", `${EDIT}; exit 7`]);
    const { rows } = writer;
    await writer[Symbol.asyncDispose]();
    expect(stderr).toMatch(/NOT rolled back: live\.db, live\.db-wal /);
    expect(code).toBe(122);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("1\n");
    const [found = "", said] = box.check.split(" ");
    expect(said).toBe("ok");
    expect(Number(found)).toBeGreaterThanOrEqual(rows);
  });

  it.each([[[]], [["--force"]]])(
    "restore %j leaves both while a program writes, and warns of no open database",
    async (more) => {
      using box = new Box();
      await box.must(["init"]);
      await using writer = new Writer(box);
      await writer.begun();
      box.write("CKPT", "");
      await vi.waitUntil(() => !existsSync(join(box.project, "CKPT")), 60_000);
      const { code, stderr } = await box.call(["restore", "0", "--yes", ...more]);
      const { rows } = writer;
      await writer[Symbol.asyncDispose]();
      expect(stderr).toMatch(/nothing was changed.* live\.db \(.* live\.db-wal \(/);
      expect(stderr).not.toMatch(/has live\.db open/);
      expect(code).toBe(6);
      const [found = "", said] = box.check.split(" ");
      expect(said).toBe("ok");
      expect(Number(found)).toBeGreaterThanOrEqual(rows);
    },
  );
});

const INSERT = `
import sqlite3
c = sqlite3.connect("live.db", isolation_level=None); c.execute("insert into t values(1, 2)")
`;

describe("The -shm that SQLite derives beside a database does not count as a change of a run", () => {
  it.each([
    ["", "recorded"],
    ["*-shm\n", "ignored"],
  ])("if the rules are %j (%s)", async (rules) => {
    using box = new Box(10);
    if (rules !== "") box.write(".gitignore", rules);
    await box.must(["init"]);
    expect(existsSync(join(box.project, "live.db-shm"))).toBe(true);
    const ran = box.run(["run", "--", ...box.python(`${INSERT}c.close()`)]);
    expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringMatching(/WARNING|-shm/)]);
    expect([box.check, existsSync(join(box.project, "live.db-shm"))]).toEqual(["12 ok", false]);
    expect((await box.must(["status"])).stdout).not.toContain("cannot be brought back");
    await box.must(["undo", "--yes"]);
    expect([box.check, existsSync(join(box.project, "live.db-shm"))]).toEqual(["11 ok", false]);
  });

  it("so a failed run is rolled back as a whole", async () => {
    using box = new Box(10);
    await box.must(["init"]);
    const ran = box.run(["run", "--rollback-on-failure", "--", ...box.python(`${INSERT}raise SystemExit(3)`)]);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("taken back")]);
    expect(ran.stderr).not.toMatch(/partly|NOT rolled back/);
    expect(box.check).toBe("11 ok");
  });
});

describe("What is committed only to the -wal, while the database itself is unchanged, is recorded", () => {
  const ROOT = [".", "../beside/live.db"];

  it("if the database is a root of its own", async () => {
    using box = new Box(50, true);
    await box.settled(ROOT);
    const ran = box.run(["run", "--", ...box.python(APP), "300", "leave"]);
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("1 change (1 modified)")]);
    const { value } = await box.json(["status"]);
    expect(value).toMatchObject({ changes: [], entries: 3, coverage: { complete: true } });
    expect(await box.latest("@live-db")).toBe("351 ok");
    for (const path of ["@live-db:live.db-wal", "../beside/live.db-wal"])
      expect((await box.must(["explain", path])).stdout).toBe("@live-db:live.db-wal: tracked: nothing leaves it out\n");
    await box.must(["undo", "--yes"]);
    expect(box.check).toBe("51 ok");
  });

  it("if the database is a root of its own, and the -wal is new", async () => {
    using box = new Box(0, true);
    box.app(50, "leave");
    spawnSync("python3", ["-c", TRUNCATE], { cwd: box.home });
    await box.settled(ROOT);
    expect(existsSync(join(box.home, "live.db-wal"))).toBe(false);
    const ran = box.run(["run", "--", ...box.python(APP), "300", "leave"]);
    expect(ran.stderr).toContain("1 change (1 created)");
    expect(await box.latest("@live-db")).toBe("350 ok");
    await box.must(["undo", "--yes"]);
    expect([box.check, existsSync(join(box.home, "live.db-wal"))]).toEqual(["50 ok", false]);
  });

  it("if the database is a root of its own: removing all its files is two deletions, and undo brings both back", async () => {
    using box = new Box(50, true);
    await box.settled(ROOT);
    const ran = box.run(["run", "--", "sh", "-c", "rm ../beside/live.db*"]);
    expect(ran.stderr).toContain("2 changes (2 deleted)");
    expect((await box.must(["manifest", "latest"])).stdout).not.toContain("live.db");
    await box.must(["undo", "--yes"]);
    expect(box.check).toBe("51 ok");
    await box.must(["redo", "--yes"]);
    expect(readdirSync(box.home)).toEqual([]);
    await box.must(["restore", "0", "--yes"]);
    expect(box.check).toBe("51 ok");
  });

  it("even if a rule leaves the -wal out", async () => {
    using box = new Box(0);
    box.write(".gitignore", "*-wal\n*-shm\n*-journal\n");
    box.app(50, "leave");
    spawnSync("python3", ["-c", TRUNCATE], { cwd: box.home });
    await box.settled([]);
    const ran = box.run(["run", "--", ...box.python(APP), "100", "leave"]);
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("1 change (1 created)")]);
    expect((await box.must(["status"])).stdout).toMatch(/complete; 1 path left out on purpose: live\.db-shm$/m);
    expect(await box.latest()).toBe("150 ok");
    await box.must(["undo", "--yes"]);
    expect([box.check, existsSync(join(box.home, "live.db-wal"))]).toEqual(["50 ok", false]);
    await box.must(["redo", "--yes"]);
    expect(box.check).toBe("150 ok");
  });

  it("and a first capture does not list a recorded -wal as left out", async () => {
    using box = new Box(50);
    box.write(".gitignore", "*-wal\n*-shm\n");
    expect((await box.must(["init"])).stdout).toMatch(/complete; 1 path left out on purpose: live\.db-shm$/m);
    expect(await box.latest()).toBe("51 ok");
  });

  it("but not a file that only has such a name", async () => {
    using box = new Box(0, true);
    writeFileSync(join(box.home, "notes"), "no database");
    box.write(".gitignore", "*-wal\n");
    box.write("list", "no database");
    await box.settled([".", "../beside/notes"]);
    writeFileSync(join(box.home, "notes-wal"), "secret");
    box.write("list-wal", "secret");
    expect((await box.must(["snapshot"])).stdout).toContain("0 changes");
    expect((await box.must(["explain", "@notes:notes-wal"])).stdout).toContain("not tracked");
  });
});

describe("A database with a file above the size limit is left out whole, and is named", () => {
  /** Returns what status says of the files that are too large. */
  async function tooLarge(box: Box): Promise<unknown> {
    const { value } = await box.json(["status"]);
    const { omitted } = (value as StatusShape).coverage;
    return omitted.filter(({ reason }) => reason === "too-large").map(({ path, detail }) => [path, detail]);
  }

  const BOTH = [
    ["live.db", expect.stringMatching(/^its database is one unit with live\.db-wal: \d+ bytes; the limit is 1048576$/)],
    ["live.db-wal", expect.stringMatching(/^\d+ bytes; the limit is 1048576$/)],
  ];

  it("if its -wal has grown, and a restore brings back files that fit together", async () => {
    using box = new Box(5);
    await box.must(["init", "--max-file-size", "1MiB"]);
    const ran = box.run(["run", "--", ...box.python(APP), "400", "ckpt"]);
    expect(ran.stderr).toMatch(/2 paths that could not be recorded afterwards were changed.*: live\.db, live\.db-wal/);
    expect(await tooLarge(box)).toEqual(BOTH);
    // The run may have recorded a state in between.
    expect(await box.latest()).toMatch(/^\d+ ok$/);
    expect(box.check).toBe("407 ok");
  });

  it("from the first capture on", async () => {
    using box = new Box(400);
    expect((await box.call(["init", "--max-file-size", "1MiB"])).code).toBe(1);
    expect(await tooLarge(box)).toEqual(BOTH);
    expect((await box.must(["manifest", "0"])).stdout).not.toContain("live.db");
  });
});
