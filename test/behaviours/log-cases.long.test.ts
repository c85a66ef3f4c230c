import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { canonicalJson } from "../../src/core/values/canonical-json.ts";
import { sealEvents } from "../../src/core/log/chain.ts";
import type { EventDraft, Json } from "../../src/core/values/event.ts";
import { EMPTY_HEAD } from "../../src/core/values/event.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { storeLayout, type WorkspaceLayout } from "../../src/storage/layout.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { Project } from "../helpers/project.ts";
import { contentOf, isSound } from "../helpers/trouble.ts";

/** Damage to a log, an index and a store from outside: rows W3 to W24 of `failure-cases.test.ts`. */

interface Recorded {
  readonly files: WorkspaceLayout;
  /** The JSON of the head at the end. */
  readonly head: string;
  readonly log: Buffer;
}

/** Records a baseline and some snapshots, and closes the workspace. */
async function recorded(project: Project, rounds = 3): Promise<Recorded> {
  project.write("a", "0");
  project.write("dir/b", "b");
  const workspace = await project.init();
  for (let i = 1; i <= rounds; i += 1) {
    project.write("a", String(i));
    project.write(`dir/new${i}`, `new ${i}`);
    await workspace.snapshot();
  }
  const head = JSON.stringify(await workspace.head());
  const files = storeLayout(project.home).workspace(workspace.id);
  await workspace.close();
  return { files, head, log: readFileSync(files.log) };
}

function discardIndex(files: WorkspaceLayout): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(files.index + suffix, { force: true });
}

/** Seals these drafts as a new log, as a forger who knows the format can do. */
function forged(drafts: readonly EventDraft[]): string {
  return sealEvents(EMPTY_HEAD, drafts, "2030-01-01T00:00:00.000Z")
    .map((one) => `${one.line}\n`)
    .join("");
}

function draftsOf(log: Buffer): EventDraft[] {
  const lines = log.toString().trimEnd().split("\n");
  return lines.map((line) => {
    const { op, record_id: recordId, record } = JSON.parse(line) as { op: "upsert"; record_id: string; record: Json };
    return { op, recordId, record: record as EventDraft["record"] };
  });
}

type Lines = readonly string[];
const swapped = (lines: Lines, a: number, b: number): string[] =>
  lines.map((line, i) => (i === a ? lines[b] : i === b ? lines[a] : line) ?? "");
const edited = (lines: Lines, at: number, edit: (line: string) => string): string[] =>
  lines.map((line, i) => (i === at ? edit(line) : line));

const middle = 4;
const edits: readonly (readonly [string, (lines: Lines) => string])[] = [
  ["W5 cut off at the end of a line", (lines) => `${lines.slice(0, -2).join("\n")}\n`],
  ["W5 cut down to its first line", (lines) => `${lines[0]}\n`],
  ["W5 emptied", () => ""],
  ["W4 cut off within an acknowledged line", (lines) => lines.join("\n").slice(0, -200)],
  [
    "W4 one character of a record",
    (lines) => edited(lines, middle, (l) => l.replace('"actor":"', '"actOr":"')).join("\n") + "\n",
  ],
  [
    "W4 one character of a hash",
    (lines) => edited(lines, middle, (l) => l.replace(/"hash":"./, '"hash":"x')).join("\n") + "\n",
  ],
  ["W14 two lines exchanged", (lines) => swapped(lines, middle, middle + 1).join("\n") + "\n"],
  ["W14 a line twice", (lines) => [...lines.slice(0, middle), ...lines.slice(middle - 1)].join("\n") + "\n"],
  ["W14 a line left out", (lines) => lines.filter((_, i) => i !== middle).join("\n") + "\n"],
  ["W15 CRLF", (lines) => lines.join("\r\n") + "\r\n"],
  ["W15 a byte order mark", (lines) => `\uFEFF${lines.join("\n")}\n`],
  ["W15 an empty line", (lines) => [...lines.slice(0, middle), "", ...lines.slice(middle)].join("\n") + "\n"],
  ["W15 a NUL", (lines) => edited(lines, middle, (l) => `${l}\0`).join("\n") + "\n"],
  ["W15 U+2028 instead of newlines", (lines) => lines.join("\u2028") + "\n"],
  ["W15 a line of 70 MiB", (lines) => edited(lines, middle, (l) => l + " ".repeat(70 * 1024 ** 2)).join("\n") + "\n"],
  ["W16 a space", (lines) => edited(lines, middle, (l) => l.replace('"op":', '"op": ')).join("\n") + "\n"],
  [
    "W16 a key twice",
    (lines) => edited(lines, middle, (l) => l.replace('{"hash"', '{"op":"upsert","hash"')).join("\n") + "\n",
  ],
  [
    "W16 an escape that need not be",
    (lines) => edited(lines, middle, (l) => l.replace("upsert", "upser\\u0074")).join("\n") + "\n",
  ],
  [
    "W16 1.0 instead of 1",
    (lines) =>
      edited(lines, middle, (l) => l.replace('"recursion_depth":0', '"recursion_depth":0.0')).join("\n") + "\n",
  ],
  [
    "W24 an operation from the future",
    (lines) => edited(lines, middle, (l) => l.replace('"op":"upsert"', '"op":"wonder"')).join("\n") + "\n",
  ],
];

describe("a log that was edited", () => {
  it.each(edits)("%s: nothing is written any more, and verify reports where the damage is", async (_, edit) => {
    await using project = new Project();
    const { files, head, log } = await recorded(project);
    const text = log.toString();
    const bad = edit(text.trimEnd().split("\n"));
    expect(bad).not.toBe(text);
    writeFileSync(files.log, bad);
    // If the length stays the same, only verify and readers of the edited line notice the edit.
    if (Buffer.byteLength(bad) === log.length) await checkNamed(project, files);
    else await checkRefused(project, { files, head, log: Buffer.from(bad) });
    discardIndex(files);
    await checkRefused(project, { files, head, log: Buffer.from(bad) });
    // With the right log put back, recording works again.
    writeFileSync(files.log, log);
    discardIndex(files);
    const again = await project.open();
    project.write("a", "again");
    await again.snapshot();
    expect((await again.verify({ expect: head })).problems).toEqual([]);
  });
});

const LOUD = /^(LOG_DAMAGED|ROLLBACK_DETECTED|INTEGRITY_VIOLATION|NOT_FOUND|FORMAT_UNSUPPORTED)$/;

/** Checks a store whose log is wrong: changes are refused, the log stays as it is, and verify names the damage. */
async function checkRefused(project: Project, { files, head, log }: Recorded): Promise<void> {
  project.write("a", "not recorded");
  const loud = expect.objectContaining({ code: expect.stringMatching(LOUD) as string }) as Error;
  let workspace: WorkspaceApi;
  try {
    workspace = await (await project.store()).openById(storeId(files));
  } catch (error) {
    expect(error).toEqual(loud);
    expect(readFileSync(files.log).equals(log)).toBe(true);
    return;
  }
  for (const change of [
    () => workspace.snapshot(),
    () => workspace.restore("baseline"),
    () => workspace.undo(),
    () => workspace.gc(),
    () => workspace.run({ command: ["true"] }),
  ]) {
    await expect(change()).rejects.toThrow(loud);
  }
  expect(project.read("a")).toBe("not recorded");
  const verified = await workspace.verify({ quick: true });
  expect(verified.ok).toBe(false);
  expect(verified.problems.map((one) => `${one.kind} ${one.where}`).join()).toMatch(/events\.wal:\d|heads\/|index\.db/);
  expect((await workspace.verify({ quick: true, expect: head })).ok).toBe(false);
  expect(readFileSync(files.log).equals(log)).toBe(true);
  expect(existsSync(files.quarantine)).toBe(false);
  await workspace.close();
}

/** Checks a log with a damaged line that the index has in its good state: verify names the line, and gc is refused. */
async function checkNamed(project: Project, files: WorkspaceLayout): Promise<void> {
  const workspace = await project.open();
  const { ok, problems } = await workspace.verify();
  expect(ok).toBe(false);
  expect(problems.map((one) => one.where)).toContain(`events.wal:${middle + 1}`);
  await expect(workspace.gc()).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  await expect(workspace.rebuild()).rejects.toMatchObject({ code: expect.stringMatching(LOUD) as string });
  expect((await workspace.verify()).ok).toBe(false);
  expect(existsSync(files.quarantine)).toBe(false);
  await workspace.close();
}

const storeId = (files: WorkspaceLayout): string => files.folder.split("/").at(-1) ?? "";

describe("a torn tail", () => {
  it.each([
    ["half a line", (line: string) => line.slice(0, 100)],
    ["a line without its newline", (line: string) => line],
    ["garbage", () => "\0\0\0\0garbage"],
    ["an event of another workspace (W18)", (line: string) => `${line}\n`],
  ])("W3 %s: moved to quarantine, recorded, never glued to the next event; verify only notes it", async (_, tail) => {
    await using project = new Project();
    await using other = new Project();
    const { files } = await recorded(project);
    const foreign = (await recorded(other)).log.toString().trimEnd().split("\n").at(-1) ?? "";
    const before = readFileSync(files.log);
    const torn = tail(foreign);
    writeFileSync(files.log, Buffer.concat([before, Buffer.from(torn)]));
    const workspace = await project.open();
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
    expect((await workspace.verify()).notes.join()).toMatch(/torn|tore the log/);
    expect(readFileSync(files.log)).toHaveLength(before.length + torn.length);
    project.write("a", "after the crash");
    await workspace.snapshot();
    const log = readFileSync(files.log);
    expect(log.subarray(0, before.length).equals(before)).toBe(true);
    expect(log.subarray(before.length).toString()).toMatch(/^\{"hash":"[0-9a-f]{64}".*"record_id":"recovery:/);
    const [kept = ""] = readdirSync(files.quarantine);
    expect(readFileSync(`${files.quarantine}/${kept}`, "utf8")).toContain(torn);
    expect(await isSound(workspace)).toEqual([]);
  });
});

describe("a history that is replaced by another one", () => {
  it("W6 the whole store as it was earlier is detected by the kept head", async () => {
    await using project = new Project();
    const { files } = await recorded(project, 1);
    const old = readFileSync(files.log);
    const oldIndex = readFileSync(files.index);
    const later = await project.open();
    project.write("a", "later");
    await later.snapshot();
    const head = JSON.stringify(await later.head());
    await later.close();
    discardIndex(files);
    writeFileSync(files.log, old);
    writeFileSync(files.index, oldIndex);
    const workspace = await project.open();
    await expect(workspace.snapshot()).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    expect((await workspace.status()).read_only).toBe(true);
    expect((await workspace.verify()).problems).toMatchObject([{ kind: "log-truncated" }]);
    expect((await workspace.verify({ expect: head })).problems).toHaveLength(2);
  });

  it("W7 a freshly computed chain of the same workspace is detected by the kept head and by --expect", async () => {
    await using project = new Project();
    const { files, head, log } = await recorded(project);
    const drafts = draftsOf(log).map((draft) =>
      draft.recordId === "file:a" ? { ...draft, record: { ...draft.record, actor: "somebody else" } } : draft,
    );
    discardIndex(files);
    writeFileSync(files.log, forged(drafts));
    const workspace = await project.open();
    await expect(workspace.snapshot()).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    const kinds = (await workspace.verify({ expect: head })).problems.map((one) => `${one.kind} ${one.where}`);
    expect(kinds).toEqual([`log-replaced heads/${workspace.id}`, "log-replaced --expect"]);
    await workspace.close();
    // If the forger removed the kept head, too, only a head that is held elsewhere reveals the replacement.
    rmSync(`${project.configFolder}/heads`, { recursive: true });
    const blind = await project.open();
    expect((await blind.verify()).problems).toMatchObject([{ kind: "head-missing" }]);
    expect((await blind.verify({ expect: head })).problems).toMatchObject([
      { kind: "head-missing" },
      { kind: "log-replaced", where: "--expect" },
    ]);
  });

  it("W18 the log of another workspace is refused, and nothing is written", async () => {
    await using project = new Project();
    await using other = new Project();
    const { files } = await recorded(project);
    const theirs = await recorded(other);
    copyFileSync(theirs.files.log, files.log);
    discardIndex(files);
    rmSync(`${project.configFolder}/heads`, { recursive: true });
    project.write("a", "precious");
    const opened = await project.open().catch((error: unknown) => error);
    if (!(opened instanceof Error)) {
      const workspace = opened as WorkspaceApi;
      expect((await workspace.verify()).problems.map((one) => one.kind)).toContain("record-damaged");
      await expect(workspace.snapshot()).rejects.toThrow();
    } else expect(opened).toMatchObject({ code: expect.stringMatching(LOUD) as string });
    expect(project.read("a")).toBe("precious");
    expect(readFileSync(files.log).equals(readFileSync(theirs.files.log))).toBe(true);
  });

  it("W18 the head of another workspace is refused by verify", async () => {
    await using project = new Project();
    await using other = new Project();
    await recorded(project);
    const { head } = await recorded(other);
    const { problems } = await (await project.open()).verify({ expect: head });
    expect(problems).toMatchObject([{ kind: "wrong-workspace" }]);
  });
});

describe("formats from the future", () => {
  it("W24 workspace.json says another format: the workspace is not opened, and nothing is written", async () => {
    await using project = new Project();
    const { files, log } = await recorded(project);
    writeFileSync(files.workspaceJson, JSON.stringify({ format: 3, id: storeId(files) }));
    await expect(project.open()).rejects.toMatchObject({ code: "FORMAT_UNSUPPORTED" });
    expect(readFileSync(files.log).equals(log)).toBe(true);
  });

  it("W24 a workspace whose record says another format is not opened", async () => {
    await using project = new Project();
    const { files, log } = await recorded(project);
    const [first, ...rest] = draftsOf(log);
    if (first === undefined) throw new Error("the log is empty");
    writeFileSync(files.log, forged([{ ...first, record: { ...first.record, format: 3 } }, ...rest]));
    discardIndex(files);
    rmSync(`${project.configFolder}/heads`, { recursive: true });
    rmSync(`${project.home}/cache`, { recursive: true });
    await expect(project.open()).rejects.toMatchObject({ code: "FORMAT_UNSUPPORTED" });
  });
});

describe("the index", () => {
  it("W9 lost, cut, garbled or older: every answer is the same as before", async () => {
    await using project = new Project();
    const { files } = await recorded(project, 1);
    const older = readFileSync(files.index);
    const workspace = await project.open();
    project.write("a", "9");
    await workspace.snapshot();
    const answers = async (one: WorkspaceApi): Promise<string> =>
      JSON.stringify([
        await one.log(),
        await one.manifest("latest"),
        await one.manifest("baseline"),
        await one.history("a"),
        await one.diff("baseline", "latest"),
        await one.head(),
        await one.snapshots(),
        (await contentOf(one, "a")).toString(),
      ]);
    const expected = await answers(workspace);
    await workspace.close();
    const damages: (() => void)[] = [
      () => discardIndex(files),
      () => truncateSync(files.index, 5_000),
      () => writeFileSync(files.index, ""),
      () => writeFileSync(files.index, Buffer.alloc(40_000, 0xa5)),
      () => writeFileSync(files.index, older),
    ];
    for (const damage of damages) {
      rmSync(`${files.index}-wal`, { force: true });
      damage();
      const again = await project.open();
      expect(await answers(again)).toBe(expected);
      expect(await isSound(again)).toEqual([]);
      await again.close();
    }
  });
});

describe("clocks", () => {
  it("W13 backwards, far ahead and back again: events are ordered by seq, have the clock's time, and none is lost", async () => {
    const disk = SimDisk.fromTree({ "/proj/a": "0", "/root": { folder: 0o700 } });
    let now = Date.parse("2030-06-01T00:00:00Z");
    const store = await openSimStore(disk, { firstId: 0, clock: () => now });
    const workspace = await store.open({ folder: "/proj", create: true });
    const times = ["2030-06-02", "2029-01-01", "2100-01-01", "1999-12-31", "2030-06-03"];
    for (const [i, time] of times.entries()) {
      now = Date.parse(`${time}T00:00:00Z`);
      const fd = disk.open("/proj/a", "update");
      disk.write(fd, Buffer.from(String(i + 1)), 0);
      disk.close(fd);
      await workspace.snapshot();
    }
    const log = await workspace.log();
    expect(log.map((one) => one.seq)).toEqual(log.map((_, i) => i + 1));
    const days = [
      ...new Set(log.filter((one) => one.record_id.startsWith("snapshot:")).map((one) => one.ts.slice(0, 10))),
    ];
    expect(days).toEqual(["2030-06-01", ...times]);
    for (const [i] of times.entries()) {
      await workspace.restore(String(i + 1));
      expect(Object.keys(disk.dump("/proj"))).toEqual(["a"]);
      expect((await contentOf(workspace, "a")).toString()).toBe(String(i + 1));
    }
    await workspace.gc();
    expect(await isSound(workspace)).toEqual([]);
    await workspace.close();
    await store.close();
  });
});

describe("records", () => {
  it("W16 each line is the canonical JSON of its event, for names with any characters", async () => {
    await using project = new Project();
    const names = ["\u2028", "\u0085", '"', "\\", "\u007f", "\u{1F600}", "\uFB33", "__proto__", "10", "9", "e\u0301"];
    const workspace = await project.init();
    for (const name of names) project.write(name, name);
    await workspace.snapshot();
    const log = readFileSync(storeLayout(project.home).workspace(workspace.id).log);
    for (const line of log.toString().trimEnd().split("\n")) {
      expect(line).not.toContain("\r");
      expect(canonicalJson(JSON.parse(line) as Json)).toBe(line);
    }
    expect(await isSound(workspace)).toEqual([]);
  });
});
