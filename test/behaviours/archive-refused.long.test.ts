import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { encodeHead, generateKey, parseSignedHead, signHead } from "../../src/core/log/signed-head.ts";
import { formerName } from "../../src/core/records/archive-manifest.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { importArchive } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";
import { archiveOf, countContents, entriesOf, exported, nothingLeft, withHistory } from "../helpers/archives.ts";

describe("a bad archive", () => {
  /** Tries to import bytes. Returns the error, after it was checked that nothing is left. */
  async function refusal(target: Project, bytes: Uint8Array): Promise<Error> {
    const file = join(target.base, "bad.tar");
    writeFileSync(file, bytes);
    const store = await target.store();
    const error: unknown = await importArchive(store, { file }).then(
      () => new Error("it was imported"),
      (reason: unknown) => reason,
    );
    nothingLeft(target);
    expect(await countContents(store)).toBe(0);
    await store.close();
    return error as Error;
  }

  it("that is cut off or changed anywhere is refused, and nothing is left", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const bytes = readFileSync(await exported(project, workspace, { withKey: true }));
    const step = Math.ceil(bytes.length / 60);
    for (let at = 0; at < bytes.length; at += step) {
      expect((await refusal(target, bytes.subarray(0, at))).message).not.toBe("it was imported");
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 4;
      expect((await refusal(target, changed)).message, `byte ${at}`).not.toBe("it was imported");
    }
  });

  it("with foreign, missing, double or misplaced entries is refused", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const bytes = readFileSync(await exported(project, workspace));
    const folder = `chronicle-${workspace.id}`;
    const entries = entriesOf(bytes);
    expect(archiveOf(folder, entries).equals(bytes)).toBe(true);
    const [first, ...rest] = entries;
    const last = entries.at(-1);
    if (first === undefined || last === undefined) throw new Error("the archive is empty");
    const manifest = JSON.parse(first.content.toString()) as { bytes: number; contents: number };
    /** Adds entries, and makes the manifest agree with them. */
    const withMore = (...more: readonly { name: string; content: Buffer }[]): Buffer => {
      const extra = more.reduce((sum, { content }) => sum + content.length, 0);
      const text = JSON.stringify({
        ...manifest,
        bytes: manifest.bytes + extra,
        contents: manifest.contents + more.length,
      });
      return archiveOf(folder, [{ ...first, content: Buffer.from(`${text}\n`) }, ...rest, ...more]);
    };
    const evil = Buffer.from("evil");
    const cases: [string, Buffer][] = [
      ["expected", withMore({ name: "../../../../tmp/evil", content: evil })],
      ["no content", withMore({ name: "contents/../evil", content: evil })],
      ["comes twice", withMore(last)],
      ["another hash", withMore({ name: `contents/${"0".repeat(64)}`, content: evil })],
      ["less than its manifest says", archiveOf(folder, entries.slice(0, -1))],
      [
        "more than its manifest says",
        archiveOf(folder, [...entries, { name: `contents/${sha256(evil)}`, content: evil }]),
      ],
      [
        "expected",
        archiveOf(
          folder,
          [...entries].reverse().toSorted((a, b) => Number(b === first) - Number(a === first)),
        ),
      ],
      ["not named after", archiveOf("chronicle-other", entries)],
      [
        "head or its log is missing",
        archiveOf(
          folder,
          entries
            .filter(({ name }) => name !== "head")
            .map((one) =>
              one === first
                ? {
                    ...first,
                    content: Buffer.from(
                      `${JSON.stringify({ ...manifest, bytes: manifest.bytes - (entries.find(({ name }) => name === "head")?.content.length ?? 0) })}\n`,
                    ),
                  }
                : one,
            ),
        ),
      ],
    ];
    for (const [why, changed] of cases) expect((await refusal(target, changed)).message).toContain(why);
  });

  it("with a list of left-out contents that is not in order, or with too many former heads, is refused", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const entries = entriesOf(readFileSync(await exported(project, workspace)));
    const folder = `chronicle-${workspace.id}`;
    const manifest = JSON.parse(entries[0]?.content.toString() ?? "") as {
      bytes: number;
      withheld: { protected: number };
    };
    const withList = (lines: number): Buffer => {
      const content = Buffer.from(`${"0".repeat(64)}\n`.repeat(lines));
      const was = manifest.withheld.protected;
      const rest = entries.filter(({ name }) => !["withheld", "chronicle-archive.json"].includes(name));
      const bytes = rest.reduce((sum, one) => sum + one.content.length, content.length);
      const withheld = { elsewhere: 0, private: 0, protected: lines };
      expect(was).toBeGreaterThan(0);
      const text = JSON.stringify({ ...manifest, bytes, withheld });
      const at = rest.findIndex(({ name }) => name === "events.wal");
      return archiveOf(folder, [
        { name: "chronicle-archive.json", content: Buffer.from(`${text}\n`) },
        ...rest.slice(0, at),
        { name: "withheld", content },
        ...rest.slice(at),
      ]);
    };
    expect((await refusal(target, zstdCompressSync(withList(500_000)))).message).toContain("not in order");
    const head = entries.find(({ name }) => name === "head");
    const others = entries.filter(({ name }) => name !== "chronicle-archive.json");
    const { content } = parseSignedHead(head?.content.toString() ?? "");
    const { privateKeyPem } = generateKey();
    const former = Array.from({ length: 1_001 }, (_, i) => encodeHead({ ...content, seq: i + 1 }))
      .map((one) => signHead(one, privateKeyPem, "chronicle"))
      .map((one) => ({ name: formerName(one), content: Buffer.from(one) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const at = others.findIndex(({ name }) => name === "head") + 1;
    const bytes = [...others, ...former].reduce((sum, { content }) => sum + content.length, 0);
    const text = JSON.stringify({ ...manifest, bytes });
    const many = archiveOf(folder, [
      { name: "chronicle-archive.json", content: Buffer.from(`${text}\n`) },
      ...others.slice(0, at),
      ...former,
      ...others.slice(at),
    ]);
    expect((await refusal(target, many)).message).toContain("more than 1000 former heads");
  });

  it("that holds a content that its history does not name brings nothing of it into the store", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const bytes = readFileSync(await exported(project, workspace));
    const folder = `chronicle-${workspace.id}`;
    const [first, ...rest] = entriesOf(bytes);
    const extra = Buffer.from("smuggled");
    const manifest = JSON.parse(first?.content.toString() ?? "") as { bytes: number; contents: number };
    const text = JSON.stringify({ ...manifest, bytes: manifest.bytes + extra.length, contents: manifest.contents + 1 });
    const more = { name: `contents/${sha256(extra)}`, content: extra };
    const file = join(target.base, "more.tar");
    writeFileSync(
      file,
      archiveOf(folder, [{ name: "chronicle-archive.json", content: Buffer.from(`${text}\n`) }, ...rest, more]),
    );
    const store = await target.store();
    await importArchive(store, { file });
    expect(await countContents(store)).toBe(manifest.contents);
  });

  it("that is larger than the disk, of another version, or no archive, is refused in plain words", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const [first, ...rest] = entriesOf(readFileSync(await exported(project, workspace)));
    const folder = `chronicle-${workspace.id}`;
    const manifest = JSON.parse(first?.content.toString() ?? "") as object;
    const withManifest = (change: object): Buffer => {
      const content = Buffer.from(`${JSON.stringify({ ...manifest, ...change })}\n`);
      return archiveOf(folder, [{ name: "chronicle-archive.json", content }, ...rest]);
    };
    expect((await refusal(target, withManifest({ bytes: 2 ** 52 }))).message).toContain("are free");
    expect((await refusal(target, withManifest({ archive: 2 }))).message).toContain("reads only form 1");
    expect((await refusal(target, withManifest({ format: 3 }))).message).toContain("reads only format 2");
    expect((await refusal(target, Buffer.from("hello\n"))).message).toContain("no archive");
    expect((await refusal(target, Buffer.alloc(0))).message).toContain("no archive");
  });

  it("whose head nobody of its history has signed is refused", async () => {
    await using project = new Project();
    await using other = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const bytes = readFileSync(await exported(project, workspace));
    const strangers = (await (await other.store()).create({ name: "x" })).workspace;
    const { note: theirs } = await strangers.head();
    const own = (await workspace.head()).note;
    const forged = own.slice(0, own.indexOf("\n\n") + 2) + theirs.slice(theirs.indexOf("\n\n") + 2);
    const entries = entriesOf(bytes).map((one) =>
      one.name === "head" ? { ...one, content: Buffer.from(forged) } : one,
    );
    expect((await refusal(target, archiveOf(`chronicle-${workspace.id}`, entries))).message).toContain("refused");
    await strangers.close();
  });
});
