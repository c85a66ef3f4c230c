import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { openContext } from "../../src/compose/open-context.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { capture } from "../../src/engine/capture/capture.ts";
import { withCommit } from "../../src/engine/commit/commit.ts";
import { keepPlan } from "../../src/engine/capture/operate.ts";
import { opening } from "../../src/engine/commit/operation-drafts.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** After a power cut, files whose bytes had not been written keep their names and times, but have no contents. */

/** Makes the store believe that it was last used before the machine restarted. */
function goDown(store: string): void {
  for (const id of readdirSync(join(store, "workspaces"))) {
    const file = join(store, "workspaces", id, "whereabouts.json");
    const noted = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    expect(noted["boot"]).toBeTypeOf("string");
    writeFileSync(file, JSON.stringify({ ...noted, boot: "00000000-0000-4000-8000-000000000000" }));
  }
}

/** Cuts a file to `bytes` bytes, and keeps its time. */
function cutShort(file: string, bytes = 0): void {
  const { atimeMs, mtimeMs } = statSync(file);
  truncateSync(file, bytes);
  utimesSync(file, atimeMs / 1_000, mtimeMs / 1_000);
}

/** Overwrites a file with other content of the same size, and keeps its time. */
function overwrite(file: string, content: string): void {
  const { size, atimeMs, mtimeMs } = statSync(file);
  expect(Buffer.byteLength(content)).toBe(size);
  writeFileSync(file, content);
  utimesSync(file, atimeMs / 1_000, mtimeMs / 1_000);
}

const FILES = { "a.txt": "aaaa\n", "in/b.txt": "bbbb\n".repeat(100), "c.txt": "cccc\n", "d.txt": "dddd\n" };

/** A time in whole seconds, because such a time can be set back exactly. */
const LONG_AGO = 1_700_000_000;

function fill(write: (path: string, content: string) => void, folder: string): void {
  for (const [path, content] of Object.entries(FILES)) {
    write(path, content);
    utimesSync(join(folder, path), LONG_AGO, LONG_AGO);
  }
}

describe("Truth 32: a workspace after an unclean end", () => {
  it("records files that were cut short, says so, and the command that it names brings them back", async () => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    goDown(box.store);
    cutShort(join(box.project, "a.txt"));
    cutShort(join(box.project, "in/b.txt"), 17);
    const status = await box.must(["status"]);
    expect(status.stdout + status.stderr).toContain('"a.txt", "in/b.txt" have lost bytes');
    const { stderr } = await box.must(["snapshot"]);
    expect(stderr).toContain('"a.txt", "in/b.txt" have lost bytes');
    const command = /bring them back: chronicle (.*)/.exec(stderr)?.[1] ?? "";
    await box.must(command.split(" "));
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe(FILES["a.txt"]);
    expect(readFileSync(join(box.project, "in/b.txt"), "utf8")).toBe(FILES["in/b.txt"]);
    // A later snapshot does not report lost bytes any more.
    cutShort(join(box.project, "c.txt"));
    expect((await box.must(["snapshot"])).stderr).not.toContain("lost bytes");
  });

  it("names commands that list all of 13 files that were cut short, and bring them back", async () => {
    using box = new Sandbox();
    const names = Array.from({ length: 13 }, (_, i) => `f${i}.txt`);
    for (const name of names) {
      box.write(name, `${name}\n`);
      utimesSync(join(box.project, name), LONG_AGO, LONG_AGO);
    }
    await box.must(["init"]);
    goDown(box.store);
    for (const name of names) cutShort(join(box.project, name));
    const { stderr } = await box.must(["snapshot"]);
    const [, look = "", back = ""] = /`chronicle (diff [^`]*)`.*`chronicle (restore .*) PATH…`/.exec(stderr) ?? [];
    const { stdout } = await box.must(look.split(" "));
    expect(names.filter((name) => !stdout.includes(name))).toEqual([]);
    await box.must([...back.split(" "), ...names]);
    expect(names.map((name) => readFileSync(join(box.project, name), "utf8"))).toEqual(
      names.map((name) => `${name}\n`),
    );
  });

  it("reports lost bytes of a file whose time changed when it was rewritten with the same bytes", async () => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    box.write("a.txt", FILES["a.txt"]);
    utimesSync(join(box.project, "a.txt"), LONG_AGO + 60, LONG_AGO + 60);
    await box.must(["snapshot"]);
    goDown(box.store);
    cutShort(join(box.project, "a.txt"));
    expect((await box.must(["snapshot"])).stderr).toContain('"a.txt" has lost bytes');
  });

  it("reports lost bytes in a snapshot also after `status` has looked at the file", async () => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    for (const at of [LONG_AGO + 30, LONG_AGO + 60]) {
      box.write("a.txt", "other bytes\n");
      utimesSync(join(box.project, "a.txt"), at, at);
      await box.must(["snapshot"]);
    }
    goDown(box.store);
    cutShort(join(box.project, "a.txt"));
    await box.must(["status"]);
    expect((await box.must(["snapshot"])).stderr).toContain('"a.txt" has lost bytes');
  });

  it("reads a file again that was recorded shortly before, although its stat equals the recorded one", async () => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    goDown(box.store);
    overwrite(join(box.project, "c.txt"), "\0\0\0\0\n");
    expect((await box.must(["snapshot"])).stderr).toContain('"c.txt" has lost bytes');
  });

  it.each([
    ["run", ["run", "--", "true"]],
    ["transaction", ["transaction", "begin"]],
  ])("reports lost bytes on stderr of %s, too", async (_, command) => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    goDown(box.store);
    cutShort(join(box.project, "a.txt"));
    const told = await box.call(command);
    expect(told.stderr).toContain('"a.txt" has lost bytes');
    expect(told.code).toBe(0);
  });

  it("reports no lost bytes for a new time, a longer file or a deletion, nor before an unclean end", async () => {
    using box = new Sandbox();
    fill((path, content) => box.write(path, content), box.project);
    await box.must(["init"]);
    cutShort(join(box.project, "d.txt"));
    expect((await box.must(["snapshot"])).stderr).not.toContain("lost bytes");
    goDown(box.store);
    truncateSync(join(box.project, "a.txt"), 0);
    writeFileSync(join(box.project, "c.txt"), "longer than it was\n");
    utimesSync(join(box.project, "c.txt"), LONG_AGO, LONG_AGO);
    rmSync(join(box.project, "in/b.txt"));
    expect((await box.must(["snapshot"])).stderr).not.toContain("lost bytes");
  });
});

describe("Truth 32: a replica after an unclean end", () => {
  let sides: FollowedOrigin | undefined;
  afterEach(() => sides?.[Symbol.asyncDispose]());

  async function started(): Promise<FollowedOrigin> {
    sides = new FollowedOrigin("--connect");
    await sides.start();
    const { project } = sides.origin;
    mkdirSync(join(project, "in"));
    fill((path, content) => writeFileSync(join(project, path), content), project);
    await sides.flush();
    const { folder } = sides.replica;
    writeFileSync(join(folder, "own.txt"), "written here\n");
    writeFileSync(join(folder, "emptied.txt"), "to be emptied\n");
    writeFileSync(join(folder, "edited.txt"), "first\n");
    utimesSync(join(folder, "edited.txt"), LONG_AGO, LONG_AGO);
    await sides.flush();
    writeFileSync(join(folder, "edited.txt"), "second\n");
    await sides.flush();
    return sides;
  }

  it("puts back files that were cut short, lost or set to an earlier state, and sends none of that to the origin", async () => {
    const { origin, replica: desk } = await started();
    await desk.kill();
    goDown(desk.home);
    cutShort(join(desk.folder, "own.txt"));
    rmSync(join(desk.folder, "d.txt"));
    writeFileSync(join(desk.folder, "edited.txt"), "first\n");
    utimesSync(join(desk.folder, "edited.txt"), LONG_AGO, LONG_AGO);
    writeFileSync(join(desk.folder, "new.txt"), "written after it\n");
    // The machine went down right after c.txt was rewritten: only its name and its time reached the disk.
    truncateSync(join(desk.folder, "c.txt"));
    utimesSync(join(desk.folder, "c.txt"), LONG_AGO + 60, LONG_AGO + 60);
    // Somebody emptied this file after the machine had started again.
    truncateSync(join(desk.folder, "emptied.txt"));
    await sides?.startReplica();
    await sides?.flush();
    const expected = {
      ...FILES,
      "own.txt": "written here\n",
      "edited.txt": "second\n",
      "new.txt": "written after it\n",
      "emptied.txt": "",
    };
    for (const [path, content] of Object.entries(expected)) {
      expect([path, readFileSync(join(desk.folder, path), "utf8")]).toEqual([path, content]);
      expect([path, readFileSync(join(origin.project, path), "utf8")]).toEqual([path, content]);
    }
  });

  it("puts back a cut file also if an operation was interrupted in the folder", async () => {
    const { replica: desk } = await started();
    await desk.kill();
    const parts = await storeParts(desk.home, join(desk.userHome, ".config", "chronicle"));
    const open = () => openContext(parts, desk.id, { tasks: storeTasks(parts, desk.id) });
    const first = await open();
    const plan = await keepPlan(first.context, []);
    const intent = { kind: "restore", summary: "restore to 1", actor: "somebody", paths: 0, plan } as const;
    await withCommit(first.context, async (commit) => {
      const [{ seq: fromSeq }, started] = [await commit.head(), new Date().toISOString()];
      await commit.begin([opening(first.context.newId(), { ...intent, state: "open", started, fromSeq })]);
    });
    await first.close();
    goDown(desk.home);
    cutShort(join(desk.folder, "own.txt"));
    // A sync begins with such a capture, before anybody has finished the interrupted operation.
    const { context, close } = await open();
    await capture(context, { cause: "watch" });
    await close();
    await parts.blobs.close();
    expect(readFileSync(join(desk.folder, "own.txt"), "utf8")).toBe("written here\n");
  });

  it("sends deletions and edits to the origin after a sync that ended properly, and puts back a cut file", async () => {
    const { origin, replica: desk } = await started();
    expect(await desk.kill("SIGINT")).toBe(0);
    goDown(desk.home);
    rmSync(join(desk.folder, "d.txt"));
    truncateSync(join(desk.folder, "c.txt"));
    utimesSync(join(desk.folder, "c.txt"), LONG_AGO + 60, LONG_AGO + 60);
    writeFileSync(join(desk.folder, "edited.txt"), "first\n");
    utimesSync(join(desk.folder, "edited.txt"), LONG_AGO, LONG_AGO);
    cutShort(join(desk.folder, "own.txt"));
    await sides?.startReplica();
    await sides?.flush();
    expect(existsSync(join(origin.project, "d.txt"))).toBe(false);
    expect(readFileSync(join(origin.project, "edited.txt"), "utf8")).toBe("first\n");
    expect(readFileSync(join(origin.project, "c.txt"), "utf8")).toBe("");
    expect(readFileSync(join(origin.project, "own.txt"), "utf8")).toBe("written here\n");
    expect(readFileSync(join(desk.folder, "own.txt"), "utf8")).toBe("written here\n");
  });
});
