/**
 * The behaviours of the second seed (an append-only log with a hash chain) for the log of a workspace, through the
 * library on the real disk. Other behaviours have their tests beside the code:
 *
 *     chain        formula, edited bytes, wrong types, order        src/core/log/chain.test.ts, canonical-json.test.ts
 *     log          offsets, torn tail, quarantine, rotation         src/testing/event-log-suite.ts
 *     crash        temp file before rename, stale temp, fsync       file-event-log.long.test.ts, file-event-log-crash.test.ts,
 *                  failures, write failures                         test/crash/engine.long.test.ts
 *     compaction   valid after it, shrinks, empty                   test/crash/compact.long.test.ts, src/testing/event-log-suite.ts
 *     snapshot     truncated, beyond the log, malformed, missing    derived-files.long.test.ts (here it is the index)
 *     data         any JSON value, 64 MiB lines                     src/core/log/chain.test.ts, canonical-json.test.ts
 *     two writers  one chain, also when some are killed             test/crash/two-writers.long.test.ts
 *
 * The general record store of that seed (`upsert get delete all`, `snapshot.json` every 50 events) has tests of its own:
 * `seed-002-records.long.test.ts`, `seed-002-records-life.test.ts`, `user-records.test.ts`, test/crash/records.long.test.ts.
 * A deletion of a file is an upsert with `kind: "absent"`. A damaged line below what was acknowledged makes the history
 * read-only instead of being skipped; above it, it is a torn tail.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LogEvent } from "../../src/core/values/event.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import { openStore } from "../../src/open.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
import { Project } from "../helpers/project.ts";
import { processorTime } from "../../src/testing/processor-time.ts";

/** A project with a closed history of seven events: baseline, and `a` edited and named twice. */
class Closed extends Project {
  id = "";

  static async make(): Promise<Closed> {
    const project = new Closed();
    project.write("a", "0");
    const workspace = await project.init();
    project.id = workspace.id;
    for (const text of ["11", "222"]) {
      project.write("a", text);
      await workspace.snapshot();
    }
    await workspace.close();
    return project;
  }

  get log(): string {
    return join(this.home, "workspaces", this.id, "events.wal");
  }

  get lines(): string[] {
    return readFileSync(this.log, "utf8").split("\n").slice(0, -1);
  }

  /** Removes the records of the log's length (heads and index), so that every bad line counts as a torn tail. */
  forgetBound(): void {
    rmSync(join(this.configFolder, "heads"), { recursive: true });
    this.forgetIndex();
  }

  forgetIndex(): void {
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(this.home, "workspaces", this.id, `index.db${suffix}`), { force: true });
  }
}

const all = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

describe("the chain", () => {
  it("every line is JSON with eight fields, seq grows by one, and prev_hash is the hash before", async () => {
    await using project = await Closed.make();
    let previous = "";
    for (const [i, line] of project.lines.entries()) {
      const event = JSON.parse(line) as Record<string, unknown>;
      const fields = ["hash", "op", "prev_hash", "record", "record_id", "recursion_depth", "seq", "ts"];
      expect(Object.keys(event)).toEqual(fields);
      expect([event["seq"], event["prev_hash"]]).toEqual([i + 1, previous]);
      expect(event["hash"]).toMatch(/^[0-9a-f]{64}$/);
      previous = String(event["hash"]);
    }
    expect(project.lines).toHaveLength(7);
  });

  it("stays valid after each kind of work, and when a caller changes returned events", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const valid = async () => expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
    await valid();
    for (let i = 0; i < 10; i += 1) {
      project.write("a", `edit ${i} ${"x".repeat(i)}`);
      await workspace.snapshot();
    }
    await valid();
    project.remove("a");
    await workspace.snapshot();
    await valid();
    await workspace.restore("3");
    await valid();
    await workspace.undo();
    await workspace.gc();
    await valid();
    const events = await workspace.log();
    for (const event of events) Object.assign(event, { hash: "changed", record: { changed: true } });
    await valid();
    expect((await workspace.log()).map((event) => event.hash)).not.toContain("changed");
  });

  it("is valid in a copy of the store in another place", async () => {
    await using project = await Closed.make();
    const home = join(project.base, "copy");
    cpSync(project.home, home, { recursive: true });
    const store = await openStore({ home, configFolder: join(project.base, "other-config") });
    const copy = await store.openById(project.id);
    // The key and the heads are not in the copied folder. verify reports only these as missing.
    expect(await copy.verify()).toMatchObject({
      ok: false,
      problems: [{ kind: "head-missing" }, { kind: "key-missing" }],
      events: 7,
    });
    await copy.close();
    await store.close();
  });
});

const edit = (at: number, change: (line: string) => string) => (lines: readonly string[]) =>
  all(lines.map((line, i) => (i === at ? change(line) : line)));

/** The name of a damage, the damage to the log, and the seq or line that verify names. */
const damages: readonly [string, (lines: readonly string[]) => string | Uint8Array, string][] = [
  ["an edited record", edit(3, (line) => line.replace('"size":2', '"size":9')), "4"],
  ["a bad hash", edit(3, (line) => line.replace(/"hash":"./, '"hash":"g')), "4"],
  ["a wrong hash", edit(3, (line) => line.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${"0".repeat(64)}"`)), "4"],
  ["a bad prev_hash", edit(3, (line) => line.replace(/"prev_hash":"[0-9a-f]{8}/, '"prev_hash":"00000000')), "4"],
  ["a missing hash", edit(3, (line) => line.replace(/"hash":"[0-9a-f]{64}",/, "")), "4"],
  ["a field of another type", edit(3, (line) => line.replace('"seq":4', '"seq":"4"')), "4"],
  ["a line that is no object", edit(3, () => "[1,2]"), "4"],
  ["garbage in the middle", edit(3, () => "%%% not json %%%"), "4"],
  ["NUL bytes in the middle", edit(3, (line) => "\0".repeat(line.length)), "4"],
  ["binary bytes at the start", edit(0, (line) => `\u0000\u0001\u00ff${line}`), "1"],
  ["a byte order mark", edit(0, (line) => `\ufeff${line}`), "1"],
  ["CRLF", (lines) => lines.map((line) => `${line}\r\n`).join(""), "1"],
  ["spaces", edit(3, (line) => line.replace('"op":', '"op": ')), "4"],
  ["a duplicate line", (lines) => all([...lines.slice(0, 3), lines[2] ?? "", ...lines.slice(3)]), "4"],
  ["a missing line", (lines) => all(lines.toSpliced(2, 1)), "3"],
  ["two lines exchanged", ([a = "", b = "", c = "", d = "", ...rest]) => all([a, b, d, c, ...rest]), "3"],
  ["a cut at the end of a line", (lines) => all(lines.slice(0, 4)), "7"],
  ["a cut within a line", (lines) => all(lines).slice(0, -30), "7"],
  ["an empty file", () => "", "7"],
  ["nothing but white space", () => " \n\n  \n", "1"],
  ["blank lines before damage", edit(3, (line) => `\n\n${line}`), "4"],
];

describe("damage of acknowledged events", () => {
  it.each(damages)("%s: verify names it, and nothing is written", async (_name, damage, named) => {
    await using project = await Closed.make();
    const damaged = damage(project.lines);
    writeFileSync(project.log, damaged);
    for (const known of [true, false]) {
      // Tested with and without the index, because the signed head alone must be enough.
      if (!known) project.forgetIndex();
      const store = await project.store();
      const opening = store.open({ folder: project.folder });
      const workspace = await opening.catch((error: unknown) => error as Error & { code?: string });
      if (workspace instanceof Error) {
        // If event 1 cannot be read, the folder of the workspace is not known.
        expect(workspace).toMatchObject({ code: expect.stringMatching(/LOG_DAMAGED|ROLLBACK|NOT_FOUND/) });
      } else {
        const report = await workspace.verify();
        expect(report.ok).toBe(false);
        expect(JSON.stringify(report.problems)).toContain(named);
        if (known) continue;
        await expect(workspace.snapshot()).rejects.toMatchObject({
          code: expect.stringMatching(/^(LOG_DAMAGED|ROLLBACK_DETECTED)$/),
          hint: expect.stringContaining("verify"),
        });
        expect(await workspace.status()).toMatchObject({ read_only: true });
        await workspace.close();
      }
      await store.close();
    }
    expect(readFileSync(project.log)).toEqual(Buffer.from(damaged));
  });

  it("the line number in the file is named, also after blank lines", async () => {
    await using project = await Closed.make();
    writeFileSync(project.log, all(project.lines.map((line, i) => (i === 3 ? `\n\n${line}` : line))));
    const workspace = await project.open();
    const { problems } = await workspace.verify();
    expect(problems[0]).toMatchObject({ where: expect.stringMatching(/line 4|:4\b/) });
  });

  it("a removed log counts as a rollback, and no new history begins", async () => {
    await using project = await Closed.make();
    rmSync(project.log);
    const store = await project.store();
    const rolledBack = { code: "ROLLBACK_DETECTED", hint: expect.stringContaining("put back") };
    await expect(store.openById(project.id)).rejects.toMatchObject(rolledBack);
    await expect(store.init({ roots: [project.folder] })).rejects.toMatchObject(rolledBack);
    expect(await store.workspaces()).toMatchObject([{ id: project.id, problem: expect.stringContaining("event 7") }]);
    expect(existsSync(project.log) ? readFileSync(project.log, "utf8") : "").toBe("");
    expect(await store.forget(project.id)).toMatchObject({ id: project.id });
    expect(await store.workspaces()).toEqual([]);
  });
});

const tails: readonly [string, (lines: readonly string[]) => string | Uint8Array, number][] = [
  ["a torn last line", (lines) => all(lines).slice(0, -30), 6],
  ["a line without its newline", (lines) => all(lines).slice(0, -1), 6],
  ["zeros behind the end", (lines) => Buffer.concat([Buffer.from(all(lines)), Buffer.alloc(4096)]), 7],
  ["half a line of 1 MB", (lines) => `${all(lines)}{"hash":"${"x".repeat(1_000_000)}`, 7],
  ["whole lines of garbage", (lines) => `${all(lines)}garbage\nmore\n`, 7],
  ["a batch torn in its first line", (lines) => all([...lines.slice(0, 4), "torn", "torn"]), 4],
];

describe("a torn tail behind the acknowledged events", () => {
  it.each(tails)("%s: kept in quarantine, reported, never glued to the next event", async (_name, tear, kept) => {
    await using project = await Closed.make();
    const before = project.lines;
    writeFileSync(project.log, tear(before));
    project.forgetBound();
    const workspace = await project.open();
    project.write("a", "after the crash");
    await workspace.snapshot();
    expect(project.lines.slice(0, kept)).toEqual(before.slice(0, kept));
    const events = await workspace.log();
    expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
    expect(events[kept]?.record_id).toMatch(/^recovery:/);
    const folder = join(project.home, "workspaces", project.id, "quarantine");
    expect(readdirSync(folder)).toHaveLength(1);
    expect(events[kept]?.record).toMatchObject({ cut_from_seq: kept + 1, kept_as: readdirSync(folder)[0] });
    // The only problem is the missing head: nothing proves any more how long the log was.
    expect((await workspace.verify()).problems).toMatchObject([{ kind: "head-missing" }]);
  });
});

describe("data", () => {
  it("odd names, texts and contents come back", async () => {
    await using project = new Project();
    const names = [
      "x",
      "n".repeat(255),
      "漢字かな",
      "👩‍👩‍👧🏳️‍🌈",
      "שלום مرحبا",
      `q"u'o\\te`,
      "line\nbreak\ttab",
      " ",
      "null",
      "-rf",
      "~",
    ];
    for (const [i, name] of names.entries())
      project.write(name, Buffer.from(JSON.stringify({ [name]: [null, "", i] })));
    project.write("empty", "");
    project.write("payload", Buffer.alloc(100_000, "payload "));
    const workspace = await project.init();
    const before = project.tree();
    for (const name of names) project.write(name, "changed");
    for (const message of names) await workspace.snapshot({ message });
    for (const name of names) expect(await workspace.history(name)).toHaveLength(2);
    expect((await workspace.snapshots()).slice(1).map((one) => one.message)).toEqual(names);
    await workspace.restore("0");
    expect(project.tree()).toEqual(before);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("ten thousand events open in under half a second", async () => {
    await using project = await Closed.make();
    const last = JSON.parse(project.lines.at(-1) ?? "") as { seq: number; hash: Hash };
    const drafts = Array.from({ length: 10_000 }, (_, i) => ({
      op: "upsert" as const,
      recordId: `user:${i % 300}`,
      record: { text: `number ${i}` },
    }));
    const sealed: readonly (LogEvent & { line: string })[] = sealCommit(last, drafts, new Date().toISOString());
    writeFileSync(project.log, all(sealed.map((event) => event.line)), { flag: "a" });
    const first = await project.open();
    expect((await first.status()).seq).toBe(10_008);
    await first.close();
    const spent = processorTime();
    const second = await project.open();
    expect((await second.log({ from: 10_001 })).at(-1)?.seq).toBe(10_008);
    expect(spent()).toBeLessThan(500);
  });
});

describe("life cycle", () => {
  it("missing folders of a store are made", async () => {
    await using project = new Project();
    const home = join(project.base, "not", "there", "yet");
    const store = await openStore({ home, configFolder: join(project.base, "config", "deep") });
    mkdirSync(project.at("x"));
    await (await store.init({ roots: [project.folder] })).workspace.close();
    await store.close();
    expect(readdirSync(home)).toEqual(expect.arrayContaining(["blobs", "workspaces"]));
  });

  it("a workspace that is opened twice sees all writes in both, which form one chain", async () => {
    await using project = new Project();
    project.write("a", "0");
    const first = await project.init();
    const second = await project.open();
    const third = await project.open({ readOnly: true });
    project.write("a", "1");
    await Promise.all([first.snapshot(), second.snapshot()]);
    project.write("a", "22");
    await Promise.all([second.snapshot(), first.snapshot()]);
    const logs = await Promise.all([first, second, third].map((one) => one.log()));
    expect(logs[1]).toEqual(logs[0]);
    expect(logs[2]).toEqual(logs[0]);
    expect((await third.history("a")).map((one) => one.size)).toEqual([1, 1, 2]);
    expect((await first.snapshots()).map((one) => one.number)).toEqual([0, 1, 2, 3, 4]);
    expect(await third.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("a closed workspace can be closed again, and refuses every other request", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    await workspace.close();
    await workspace.close();
    project.write("a", "1");
    for (const use of [
      () => workspace.snapshot(),
      () => workspace.status(),
      () => workspace.log(),
      () => workspace.verify(),
    ])
      await expect(use()).rejects.toMatchObject({ name: "ChronicleError", message: expect.stringContaining("closed") });
    const again = await project.open();
    expect((await again.status()).changes).toHaveLength(1);
    expect(await again.verify()).toMatchObject({ ok: true });
  });

  it("a caller that throws during a run leaves a sound history and no lock", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const failing = workspace.run({
      command: ["true"],
      onStart: () => {
        throw new Error("the caller's own");
      },
    });
    await expect(failing).rejects.toThrow("the caller's own");
    project.write("a", "11");
    const other = await project.open();
    expect(await other.snapshot()).toMatchObject({ changed: 1 });
    expect(await other.verify()).toMatchObject({ ok: true });
  });

  it("the log is read from any position; a deletion persists", async () => {
    await using project = await Closed.make();
    const workspace = await project.open();
    expect((await workspace.log({ from: 3 })).map((event) => event.seq)).toEqual([3, 4, 5, 6, 7]);
    expect(await workspace.log({ from: 8 })).toEqual([]);
    expect(await workspace.log({ from: 1_000_000 })).toEqual([]);
    expect((await workspace.log({ limit: 2, reverse: true })).map((event) => event.seq)).toEqual([7, 6]);
    expect((await workspace.log({ from: 2, to: 5, prefix: "file:" })).map((event) => event.seq)).toEqual([4]);
    project.remove("a");
    await workspace.snapshot();
    await workspace.close();
    project.forgetIndex();
    const again = await project.open();
    expect((await again.history("a")).at(-1)).toMatchObject({ deleted: true, iteration: 4 });
    expect((await again.manifest("latest")).files).toEqual({});
    expect(Object.keys((await again.manifest("2")).files)).toEqual(["a"]);
  });
});
