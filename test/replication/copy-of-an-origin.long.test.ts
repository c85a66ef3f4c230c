import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileContent } from "../../src/api/file-api.ts";
import type { StoreParts } from "../../src/compose/open-context.ts";
import { openReplica } from "../../src/compose/file-sync-places.ts";
import { collectStore } from "../../src/compose/store-tasks.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";
import { pushAll } from "../helpers/pushed.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** An origin of a few files with a history, and a replica in another store that has followed it once. */
class Copied implements AsyncDisposable {
  readonly project = new Project();
  readonly other = new Project();
  here!: StoreParts;
  there!: StoreParts;
  id = "";
  replica = "";

  static async make(wants: (path: string) => boolean = () => true): Promise<Copied> {
    const made = new Copied();
    made.project.write("a.txt", "one\n");
    made.project.write("deep/b.bin", "from the baseline\n".repeat(1_000));
    made.project.write("noise/c.tmp", "nobody wants this\n".repeat(1_000));
    const origin = await made.project.init();
    await origin.putFile("a.txt", Buffer.from("two\n"));
    await origin.snapshot({ message: "a moment" });
    await origin.deleteFile("deep/b.bin");
    made.id = origin.id;
    made.replica = (await made.other.init()).id;
    made.here = await storeParts(made.project.home, made.project.configFolder);
    made.there = await storeParts(made.other.home, made.other.configFolder);
    await made.push(wants);
    return made;
  }

  push(wants: (path: string) => boolean = () => true) {
    const { here, there, id, replica } = this;
    return pushAll({ here, there, id, replica, options: { wants } });
  }

  get upstream(): string {
    return join(this.other.home, "workspaces", this.replica, "upstream");
  }

  async open() {
    return (await this.other.store()).openById(this.replica, { upstream: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.here.blobs.close();
    await this.there.blobs.close();
    await this.project[Symbol.asyncDispose]();
    await this.other[Symbol.asyncDispose]();
  }
}

async function textOf(file: Promise<FileContent>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of (await file).pieces()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe("a copy of an origin's history", () => {
  it("can be read as a workspace with the origin's id, and cannot be changed", async () => {
    await using copied = await Copied.make();
    const copy = await copied.open();
    const origin = await copied.project.open();
    expect(copy.id).toBe(copied.id);
    expect(await copy.log()).toEqual(await origin.log());
    expect((await copy.manifest("latest")).files).toEqual((await origin.manifest("latest")).files);
    expect(await textOf(copy.file("a.txt"))).toBe("two\n");
    expect(await textOf(copy.file("a.txt", { iteration: 1 }))).toBe("one\n");
    const target = join(copied.other.base, "restored");
    await copy.restore("baseline", { to: target });
    expect(copied.other.tree(target)).toEqual({ ...copied.project.tree(), ...copied.other.tree(target) });
    expect(readFileSync(join(target, "deep/b.bin"), "utf8")).toBe("from the baseline\n".repeat(1_000));
    await expect(copy.putFile("a.txt", Buffer.from("three\n"))).rejects.toMatchObject({ code: "READ_ONLY" });
    await expect(copy.restore("baseline")).rejects.toMatchObject({ code: "READ_ONLY" });
    await expect(copy.snapshot({})).rejects.toMatchObject({ code: "READ_ONLY" });
    await expect(copy.compact()).rejects.toMatchObject({ code: "READ_ONLY" });
    await copy.close();
    const there = await (await copied.other.store()).open({ folder: copied.other.folder, upstream: true });
    expect(there.id).toBe(copied.id);
    await there.close();
    await expect((await copied.project.store()).openById(copied.id, { upstream: true })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("hides from agents, and only from them, the files that the replica's workspace has configured as protected", async () => {
    await using copied = await Copied.make();
    const own = await copied.other.open();
    await own.configure({ protectedNames: ["a.txt"] });
    await own.close();
    const agents = await (await copied.other.store()).openById(copied.replica, { upstream: true, role: "agent" });
    for (const iteration of [1, 2])
      await expect(textOf(agents.file("a.txt", { iteration }))).rejects.toMatchObject({ code: "FORBIDDEN" });
    const target = join(copied.other.base, "restored");
    await agents.restore("latest", { to: target });
    expect(existsSync(join(target, "a.txt"))).toBe(false);
    await agents.close();
    const copy = await copied.open();
    expect(await textOf(copy.file("a.txt"))).toBe("two\n");
    await copy.close();
  });

  it("keeps its contents when gc runs, and is forgotten with its workspace", async () => {
    await using copied = await Copied.make();
    const { there } = copied;
    await collectStore(there);
    const large = sha256("from the baseline\n".repeat(1_000));
    expect(await there.blobs.get(large)).toBeDefined();
    const du = await (await copied.other.store()).du();
    expect(du.log_bytes).toBeGreaterThan(readFileSync(join(copied.upstream, "events.wal")).length);
    const store = await copied.other.store({ waitMs: 50 });
    expect((await store.doctor()).checks).toContainEqual({
      name: "syncs",
      ok: true,
      detail: "1 workspace follows an origin",
    });
    {
      await using _hold = await openReplica(there, copied.replica);
      await expect(store.forget(copied.replica)).rejects.toMatchObject({ code: "LOCKED" });
    }
    await store.forget(copied.replica, { now: true });
    await collectStore(there);
    expect(await there.blobs.get(large)).toBeUndefined();
  });

  it("is verified with its workspace", async () => {
    await using copied = await Copied.make();
    const replica = await copied.other.open();
    const sound = await replica.verify();
    expect(sound).toMatchObject({ ok: true, problems: [] });
    expect(sound.notes.join("\n")).toContain(`of workspace ${copied.id}, up to event `);
    const log = join(copied.upstream, "events.wal");
    const lines = readFileSync(log, "utf8");
    writeFileSync(log, lines.replace("a moment", "a legend"));
    const { problems } = await replica.verify({ quick: true });
    expect(problems.map(({ kind, where }) => `${kind} ${where}`)).toEqual([
      expect.stringMatching(/^line-bad-hash upstream\/events\.wal:\d+$/),
    ]);
    writeFileSync(log, lines);
    writeFileSync(
      join(copied.upstream, "witness.json"),
      JSON.stringify({ workspace: copied.id, sequence: 2, held: "a", told: "b", reason: "its event 2 is another one" }),
    );
    expect((await replica.verify({ quick: true })).problems).toEqual([
      {
        kind: "copy-contradicted",
        where: "upstream/witness.json",
        detail: expect.stringContaining("event 2") as string,
      },
    ]);
  });

  it("verifies after a compaction of the origin's log, and can still be read", async () => {
    await using copied = await Copied.make();
    const origin = await copied.project.open();
    await origin.compact();
    await origin.putFile("a.txt", Buffer.from("three\n"));
    await copied.push();
    const replica = await copied.other.open();
    expect((await replica.verify()).problems).toEqual([]);
    await collectStore(copied.there);
    expect((await replica.verify()).problems).toEqual([]);
    const copy = await copied.open();
    expect(await textOf(copy.file("a.txt", { iteration: 2 }))).toBe("two\n");
    expect(await copy.log()).toEqual(await origin.log());
    await copy.close();
  });

  it("has no unwanted contents, and verify reports them as missing only after the note of them is lost", async () => {
    const wants = (path: string) => !path.startsWith("noise/");
    await using copied = await Copied.make(wants);
    const unwanted = sha256("nobody wants this\n".repeat(1_000));
    expect(await copied.there.blobs.get(unwanted)).toBeUndefined();
    const replica = await copied.other.open();
    expect((await replica.verify()).problems).toEqual([]);
    const copy = await copied.open();
    expect((await copy.verify()).problems).toEqual([]);
    await expect(textOf(copy.file("noise/c.tmp"))).rejects.toMatchObject({ code: "BLOB_MISSING" });
    await copy.close();
    rmSync(join(copied.upstream, "withheld"));
    expect((await replica.verify()).problems).toMatchObject([
      { kind: "blob-missing", where: expect.stringContaining("noise/c.tmp") as string },
    ]);
  });

  it("continues after a torn or a bad line, but refuses a log that is shorter than its index says", async () => {
    await using copied = await Copied.make();
    const log = join(copied.upstream, "events.wal");
    const lines = readFileSync(log, "utf8");
    writeFileSync(log, `${lines}{"hash":"`);
    await copied.push();
    expect(readFileSync(log, "utf8")).toBe(lines);
    // Without the index, nothing vouches for the lines behind a bad line. The replica asks for all of them again.
    writeFileSync(log, lines.replace("a moment", "a legend"));
    rmSync(join(copied.upstream, "index.db"));
    await copied.push();
    expect(readFileSync(log, "utf8")).toBe(lines);
    // The index vouches for the events that it has seen. If they are not in the log, the log is damaged.
    for (const kept of [0, 200, lines.indexOf("\n") + 1]) {
      writeFileSync(log, lines.slice(0, kept));
      await expect(copied.push()).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    }
  });
});
