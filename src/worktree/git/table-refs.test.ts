import {
  cpSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { NotingFs } from "./seen-paths.ts";
import { UnreadableGit } from "./git-folder-pair.ts";
import { STASH_LOG, TableRefs } from "./table-refs.ts";

// git 2.47 has written these tables, and the files of text say what it says of them. See README.md beside them.
const FIXTURES = join(import.meta.dirname, "../../../test/worktree/reftables");

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** A copy of a fixture, with its refs. */
function copied(name: string): { readonly folder: string; readonly refs: TableRefs } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-reftable-")));
  made.push(folder);
  cpSync(join(FIXTURES, name), folder, { recursive: true });
  const own = new NotingFs(new NodeDisk(), folder);
  const hashBytes = name === "sha256" ? 32 : 20;
  return { folder, refs: new TableRefs({ own, common: own, hashBytes, isBare: false, isReftable: true }) };
}

const linesOf = (folder: string, file: string): string[] =>
  readFileSync(join(folder, file), "utf8").split("\n").slice(0, -1);

/** Returns the refs that git lists: the name, the object, and the target of a symbolic ref. */
function saidByGit(folder: string): Map<string, string> {
  const said = linesOf(folder, "refs.txt").map((line) => line.split(" "));
  return new Map(said.map(([name = "", hash = "", target = ""]) => [name, target === "" ? hash : `ref: ${target}`]));
}

/** A line of a reflog as git shows it: the commit, who, when and what. */
const shown = (line: string): string => {
  const [, after, who, when, what] = /^\S+ (\S+) (.*>) (.*)\t(.*)$/.exec(line) ?? [];
  return `${after} ${who} ${when}\t${what}`;
};
const asShown = (folder: string, file: string): string[] =>
  linesOf(folder, file).map((line) => line.replace(/ (?:\S+@\{)(.*)\}\t/, " $1\t"));

const bothSizes = ["sha1", "sha256"];

describe("refs in tables", () => {
  it.each([...bothSizes, "many"])("are those that git names (%s)", (name) => {
    const { folder, refs } = copied(name);
    const { all, settled } = refs.shared();
    expect(new Map([...all].filter(([ref]) => ref.startsWith("refs/")))).toEqual(saidByGit(folder));
    // A table that only says that a ref is gone does not make it come back as a settled one.
    expect([...settled.refs].filter(([ref, value]) => all.get(ref) !== value)).toEqual(
      name === "many" ? [] : [["HEAD", "ref: refs/heads/main"]],
    );
    expect(refs.ref("HEAD")).toBe(name === "many" ? "ref: refs/heads/main" : "ref: refs/heads/side");
    expect(refs.ref("refs/heads/gone")).toBeUndefined();
  });

  it.each(bothSizes)(
    "have the reflog of HEAD and the list of stashes, without those that were dropped (%s)",
    (name) => {
      const { folder, refs } = copied(name);
      const stashes = refs.file(STASH_LOG)?.toString().split("\n").slice(0, -1) ?? [];
      expect(stashes.map(shown).toReversed()).toEqual(asShown(folder, "stashes.txt"));
      expect(refs.headLog().split("\n").map(shown).toReversed()).toEqual(asShown(folder, "head.txt"));
      expect(refs.file("ORIG_HEAD")?.toString()).toMatch(/^[0-9a-f]{40,64}\n$/);
      expect([refs.file("MERGE_HEAD"), refs.file("index")]).toEqual([undefined, undefined]);
    },
  );

  it("are read anew once git has added a table, or has made one of several", () => {
    const { folder, refs } = copied("sha1");
    const list = join(folder, "reftable/tables.list");
    const names = linesOf(folder, "reftable/tables.list");
    const write = (some: readonly string[]): void => {
      writeFileSync(`${list}.new`, some.map((name) => `${name}\n`).join(""));
      renameSync(`${list}.new`, list);
    };
    write(names.slice(0, 1));
    const before = refs.shared();
    expect([refs.ref("refs/heads/gone"), refs.ref("refs/heads/tip")]).toEqual([expect.any(String), undefined]);
    write(names);
    expect([refs.ref("refs/heads/gone"), refs.ref("refs/heads/tip")]).toEqual([undefined, expect.any(String)]);
    expect(refs.shared().settled.key).not.toBe(before.settled.key);
  });

  it("are not read if a table is missing, cut off or changed, or the list names no table", () => {
    const broken: readonly ((folder: string, table: string) => void)[] = [
      (_, table) => rmSync(table),
      (_, table) => writeFileSync(table, readFileSync(table).subarray(0, 300)),
      (_, table) => writeFileSync(table, "no table"),
      (folder) => writeFileSync(join(folder, "reftable/tables.list"), "../../HEAD\n"),
      (folder, table) => {
        const list = `${basename(table)}\n`.repeat(2);
        writeFileSync(join(folder, "reftable/tables.list"), list);
      },
      (folder, table) => {
        const names = Array.from({ length: 1_001 }, (_, n) => `${n}.ref`);
        for (const name of names) linkSync(table, join(folder, "reftable", name));
        writeFileSync(join(folder, "reftable/tables.list"), `${names.join("\n")}\n`);
      },
      (folder) => rmSync(join(folder, "reftable"), { recursive: true }),
    ];
    for (const damage of broken) {
      const { folder, refs } = copied("sha1");
      const [first = ""] = readdirSync(join(folder, "reftable")).sort();
      damage(folder, join(folder, "reftable", first));
      expect(() => refs.shared()).toThrow(UnreadableGit);
    }
  });

  it("each of many flipped bytes of a table is refused, or leaves refs that are refs", () => {
    const { folder } = copied("sha1");
    const [first = ""] = readdirSync(join(folder, "reftable")).sort();
    const path = join(folder, "reftable", first);
    const sound = readFileSync(path);
    for (let at = 0; at < sound.length; at += 7) {
      const bytes = Buffer.from(sound);
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      writeFileSync(path, bytes);
      const own = new NotingFs(new NodeDisk(), folder);
      const refs = new TableRefs({ own, common: own, hashBytes: 20, isBare: false, isReftable: true });
      try {
        refs.shared();
        refs.file(STASH_LOG);
        refs.headLog();
      } catch (error) {
        expect(error, `byte ${at}`).toBeInstanceOf(UnreadableGit);
      }
    }
  });
});
