import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ImportOptions } from "../../src/api/record-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chainedLines, hashOfLine, signedLine } from "../helpers/original-log.ts";
import { Project } from "../helpers/project.ts";

/**
 * Logs of the original chronomemory that cannot be verified as a whole. The verifiable part is imported, and the rest
 * is reported.
 */

const record = (id: string, n: number, more = ""): Record<string, string> => {
  return { record_id: JSON.stringify(id), record: `{"id": "${id}", "n": ${n}${more}}` };
};

/** The log that the original's compaction leaves. Its sentinel is event 51, and no event is before it. */
const COMPACTED = chainedLines(51, [
  { op: '"compact"', record_id: '"__compact__"', record: '{"label": "Compacted at seq=50"}' },
  record("b", 2),
  record("c", 3),
]);

function checkpoint(seq: number, lastHash: string, ...records: readonly string[]): Buffer {
  return Buffer.from(`{"seq": ${seq}, "last_hash": "${lastHash}", "ts": "T", "records": [${records.join(", ")}]}`);
}

const HELD = [
  '{"id": "a", "n": 1, "status": "active", "recursion_depth": 2}',
  '{"id": "b", "n": 0, "status": "active"}',
  '{"id": "gone", "n": 9, "status": "tombstone"}',
];

async function imported(lines: readonly string[] | string, options: ImportOptions = {}) {
  await using project = new Project();
  const workspace = await project.init();
  const { records } = workspace;
  const text = typeof lines === "string" ? lines : `${lines.join("\n")}\n`;
  const shape = await records.importChronomemory(Buffer.from(text), options);
  const [about] = await workspace.log({ prefix: "import:" });
  const depths: number[] = [];
  for await (const one of records.replay()) depths.push(one.recursion_depth);
  const { problems } = await workspace.verify();
  expect(problems).toEqual([]);
  return { shape, all: Object.fromEntries(await records.all()), about: about?.record, depths };
}

describe("a compacted log", () => {
  it("is refused without its checkpoint, and the hint names --accept-checkpoint", async () => {
    await expect(imported(COMPACTED)).rejects.toMatchObject({
      code: "REFUSED",
      data: { line: 1 },
      hint: expect.stringContaining("--accept-checkpoint") as string,
    });
  });

  it("is imported with its checkpoint, and the records that no line verifies are counted apart", async () => {
    const bytes = checkpoint(50, "0".repeat(64), ...HELD);
    const { shape, all, about, depths } = await imported(COMPACTED, { checkpoint: bytes });
    expect(all).toEqual({
      a: { id: "a", n: 1, status: "active", recursion_depth: 2 },
      b: { id: "b", n: 2 },
      c: { id: "c", n: 3 },
    });
    const unverified = { checkpoint: { file_sha256: sha256(bytes), seq: 50, records: 2 } };
    expect(shape).toMatchObject({ events: 2, records: 3, unverified });
    expect(about).toMatchObject({ events: 2, seqs: [52, 53], unverified });
    // The replay yields the records of the checkpoint first, then the verified ones.
    expect(depths).toEqual([2, 0, 0, 0]);
  });

  it("takes a record from its line if a checkpoint that was written later holds it, too", async () => {
    const later = checkpoint(52, hashOfLine(COMPACTED[1] ?? ""), ...HELD);
    const { shape, all } = await imported(COMPACTED, { checkpoint: later });
    expect(all["b"]).toEqual({ id: "b", n: 2 });
    expect(shape.unverified?.checkpoint).toMatchObject({ seq: 52, records: 1 });
  });

  it.each<[string, Buffer, string]>([
    ["of another log", checkpoint(52, "0".repeat(64)), "has the hash"],
    ["that leaves events out", checkpoint(49, ""), "ends with event 49, and the log begins with event 51"],
    ["that goes further than the log", checkpoint(54, ""), "ends with event 54, and the log with event 53"],
    ["that is not one", Buffer.from("[1]"), "not a JSON object"],
    ["with a record twice", checkpoint(50, "", '{"id": "a"}', '{"id": "a"}'), "there twice"],
    ["with a number that JSON does not have", checkpoint(50, "", '{"id": "a", "n": NaN}'), "NaN"],
  ])("is refused with a checkpoint %s", async (_name, bytes, why) => {
    await expect(imported(COMPACTED, { checkpoint: bytes })).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining(why) as string,
    });
  });

  it("that was compacted when it was empty needs no checkpoint", async () => {
    const lines = chainedLines(1, [{ op: '"compact"' }, record("a", 1)]);
    expect((await imported(lines)).shape).toMatchObject({ events: 1, records: 1 });
    expect((await imported(lines)).shape.unverified).toBeUndefined();
  });
});

describe("a torn log", () => {
  const lines = chainedLines(1, [record("a", 1), record("b", 2), record("c", 3)]);
  const torn = `${lines.slice(0, 2).join("\n")}\n${lines[2]?.slice(0, 40)}`;

  it("is refused, and the hint names --up-to-tear", async () => {
    await expect(imported(torn)).rejects.toMatchObject({
      code: "INTEGRITY_VIOLATION",
      data: { line: 3 },
      hint: expect.stringContaining("--up-to-tear") as string,
    });
  });

  it("is imported up to the tear, and the tear is reported", async () => {
    const { shape, all, about } = await imported(torn, { upToTear: true });
    expect(Object.keys(all)).toEqual(["a", "b"]);
    const byte = Buffer.byteLength(`${lines.slice(0, 2).join("\n")}\n`);
    const tear = {
      line: 3,
      byte,
      bytes: 40,
      lines: 1,
      reason: expect.stringContaining("line 3 does not verify") as string,
    };
    expect(shape).toMatchObject({
      events: 2,
      head: { seq: 2, hash: hashOfLine(lines[1] ?? "") },
      unverified: { tear },
    });
    expect(about).toMatchObject({ unverified: { tear } });
  });

  it("yields nothing from behind the tear, even if lines there are sound, and counts these lines", async () => {
    const glued = `${lines[0]}\n${lines[1]?.slice(0, 30)}${lines[2]}\n\n${lines[2]}\n`;
    const { shape, all } = await imported(glued, { upToTear: true });
    expect(Object.keys(all)).toEqual(["a"]);
    expect(shape.unverified?.tear).toMatchObject({ line: 2, lines: 2 });
  });

  it("with nothing in front of the tear is refused", async () => {
    await expect(imported("{", { upToTear: true })).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
  });

  it("that is compacted as well is reported with its checkpoint and its tear", async () => {
    const both = `${COMPACTED.slice(0, 2).join("\n")}\n{"seq"`;
    const { shape } = await imported(both, { upToTear: true, checkpoint: checkpoint(50, "", ...HELD) });
    expect(shape).toMatchObject({
      events: 1,
      records: 2,
      unverified: { checkpoint: { records: 2 }, tear: { line: 3 } },
    });
  });
});

describe("a value that is not supported", () => {
  it.each([
    ["NaN", "NaN"],
    ["Infinity", "Infinity"],
    ["-Infinity", "-Infinity"],
    ["an integer beyond all doubles", `1${"0".repeat(400)}`],
    ["deep nesting", `${"[".repeat(400)}${"]".repeat(400)}`],
  ])(
    "%s is reported as not supported with its line, also with upToTear, because no line is wrong",
    async (_name, value) => {
      const deep = value.startsWith("[");
      const [first = "", second = ""] = chainedLines(1, [record("a", 1), record("b", 2)]);
      const odd = { seq: "2", prev_hash: `"${hashOfLine(first)}"`, record: `{"x": ${value}}` };
      const line = deep ? second.replace('"n": 2', `"n": ${value}`) : signedLine(odd);
      for (const upToTear of [false, true]) {
        await expect(imported([first, line], { upToTear })).rejects.toMatchObject({
          code: "REFUSED",
          message: expect.stringMatching(/^line 2 is not supported: /) as string,
          data: { line: 2 },
        });
      }
    },
  );
});

describe("chronicle import", () => {
  it("--accept-checkpoint reads the snapshot.json beside the log, and what was not verified or imported is reported", async () => {
    using box = new Sandbox();
    const folder = join(box.folder, ".chronomemory");
    mkdirSync(folder);
    const file = join(folder, "events.wal");
    writeFileSync(file, `${COMPACTED.join("\n")}\n{"seq": 5`);
    writeFileSync(join(folder, "snapshot.json"), checkpoint(50, "", ...HELD));
    const store = ["--folder", join(box.folder, "facts")];
    const refused = await box.call(["import", "--from", "chronomemory", file, ...store]);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("--up-to-tear")]);
    const options = ["--accept-checkpoint", "--up-to-tear"];
    const done = await box.must(["import", "--from", "chronomemory", file, ...options, ...store]);
    expect(done.stderr).toContain("not verified: 2 records of snapshot.json, as of event 50");
    expect(done.stderr).toContain("not imported: 1 line (9 bytes)");
    expect((await box.must(["record", "get", "a", ...store])).stdout).toContain('"n": 1');
  });
});
