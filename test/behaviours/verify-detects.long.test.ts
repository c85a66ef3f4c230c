import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VerifyShape } from "../../src/api/shapes.ts";
import { storeLayout, type WorkspaceLayout } from "../../src/storage/layout.ts";
import { Project } from "../helpers/project.ts";

/**
 * `verify` finds one flipped bit anywhere in a file of the store that is not derived, and names the file. The positions
 * are random, from a seed that is printed. `DETECT_FLIPS`: the number of flips for each file.
 */

const FLIPS = Number(process.env["DETECT_FLIPS"] ?? 12);
const SEED = Number(process.env["DETECT_SEED"] ?? Date.now() % 1_000_000);

let project: Project;
let files: WorkspaceLayout;
let id: string;
let head: string;

/** A small random generator with a seed, so that a failure can be reproduced. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function noise(bytes: number, seed: number): Buffer {
  const next = random(seed);
  return Buffer.from(Array.from({ length: bytes }, () => next(256)));
}

beforeAll(async () => {
  project = new Project();
  project.write("text", "some text that compresses well, ".repeat(2_000));
  project.write("noise", noise(30_000, 7));
  for (let i = 0; i < 30; i += 1) project.write(`many/${i}`, `file ${i}\n`.repeat(i));
  project.write("large.raw", Buffer.concat(Array.from({ length: 300 }, (_, i) => noise(30_000, i))));
  project.write("large.zeros", Buffer.alloc(9_000_000, "compressible "));
  project.write(".gitignore", "*.log\n");
  const workspace = await project.init();
  project.write("text", "edited");
  project.write("more/deep/file", "more\n");
  project.remove("many/3");
  await workspace.snapshot({ name: "first" });
  await workspace.run({ command: ["sh", "-c", "echo agent > made; rm noise"] });
  await workspace.undo();
  await workspace.restore("baseline");
  head = JSON.stringify(await workspace.head());
  id = workspace.id;
  files = storeLayout(project.home).workspace(id);
  await workspace.close();
  for (const [folder, copy] of copies()) cpSync(folder, copy, { recursive: true });
  process.stdout.write(`verify-detects: seed ${SEED}\n`);
});

afterAll(() => project[Symbol.asyncDispose]());

/** Restores the store and the configuration to their state before the tests. */
function putBack(): void {
  for (const [folder, copy] of copies()) {
    rmSync(folder, { recursive: true, force: true });
    cpSync(copy, folder, { recursive: true });
  }
}

function copies(): (readonly [string, string])[] {
  return [
    [project.home, join(project.base, "copy-of-store")],
    [project.configFolder, join(project.base, "copy-of-config")],
  ];
}

function filesBeneath(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path).isFile());
}

/** Every file of the store that is not derived, and the kept head, which is beside the store. */
function authoritative(): string[] {
  const derived =
    /\/(index\.db|gc\.db|lock\.db)[^/]*$|\/stat\.cache[^/]*$|\/whereabouts\.json$|\/cache\/|\/large\/tmp\/|\/staging\//;
  return [...filesBeneath(project.home).filter((path) => !derived.test(path)), `${project.configFolder}/heads/${id}`];
}

async function verified(expectHead?: string): Promise<VerifyShape | Error> {
  try {
    const store = await project.store();
    const workspace = await store.openById(id);
    try {
      return await workspace.verify(expectHead === undefined ? {} : { expect: expectHead });
    } finally {
      await workspace.close();
    }
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** The name of a file in a problem. */
function nameOf(path: string): RegExp {
  if (path === files.log) return /events\.wal:\d+|--expect|heads\//;
  if (path.includes("/heads/")) return /heads\//;
  if (path === files.workspaceJson) return /workspace\.json/;
  return new RegExp(path.split("/").at(-1)?.replace(".z", "") ?? "");
}

describe("one flipped bit", () => {
  it("the store is sound before, and has all kinds of files", async () => {
    expect(await verified(head)).toMatchObject({ ok: true, problems: [] });
    const kinds = authoritative().map((path) => path.slice(project.base.length).replaceAll(/[0-9a-f]{64}/g, "<hash>"));
    for (const kind of [
      /active\/\d+\.pack$/,
      /large\/..\/<hash>$/,
      /<hash>\.z$/,
      /events\.wal$/,
      /workspace\.json$/,
      /heads/,
    ])
      expect(kinds.filter((path) => kind.test(path)).length).toBeGreaterThan(0);
  });

  it("is found wherever it is, and its file is named", async () => {
    const next = random(SEED);
    let flips = 0;
    const all = authoritative();
    for (const path of all) {
      const sound = readFileSync(path);
      for (let i = 0; i < FLIPS; i += 1) {
        // A third of the flips each: in the first bytes, in the last bytes, and anywhere.
        const near = next(3);
        const at =
          near === 0
            ? next(Math.min(64, sound.length))
            : near === 1
              ? sound.length - 1 - next(Math.min(64, sound.length))
              : next(sound.length);
        const bit = 1 << next(8);
        const hurt = Buffer.from(sound);
        hurt[at] = (hurt[at] ?? 0) ^ bit;
        writeFileSync(path, hurt);
        const found = await verified();
        // The recovery from the damage may have made or removed files. Everything is put back then.
        if (authoritative().join() === all.join()) writeFileSync(path, sound);
        else putBack();
        const what = `${path} byte ${at} of ${sound.length} bit ${bit} (seed ${SEED})`;
        if (found instanceof Error) {
          expect({ what, code: "code" in found ? found.code : undefined }).toMatchObject({
            code: expect.stringMatching(/DAMAGED|CORRUPT|MISSING|VIOLATION|ROLLBACK|FORMAT/) as string,
          });
          continue;
        }
        expect({ what, ok: found.ok }).toEqual({ what, ok: false });
        expect(found.problems.map((one) => `${one.where} ${one.detail}`).join("\n")).toMatch(nameOf(path));
        flips += 1;
      }
    }
    process.stdout.write(`verify-detects: ${flips} flipped bits in ${all.length} files found\n`);
    expect(await verified(head)).toMatchObject({ problems: [] });
  });
});

describe("files that are cut, emptied, removed or longer", () => {
  it("are found", async () => {
    for (const path of authoritative()) {
      const sound = readFileSync(path);
      const damages: (readonly [string, () => void])[] = [
        ["cut", () => writeFileSync(path, sound.subarray(0, sound.length / 2))],
        ["emptied", () => writeFileSync(path, "")],
        ["gone", () => rmSync(path)],
        ["longer", () => writeFileSync(path, Buffer.concat([sound, Buffer.from("more")]))],
      ];
      for (const [how, damage] of damages) {
        // Bytes behind the last line of the log or the published end of a lane are no damage: a crash leaves them.
        if (how === "longer" && /events\.wal$|active\/\d+\.pack$/.test(path)) continue;
        damage();
        const found = await verified(head);
        putBack();
        const ok = found instanceof Error ? false : found.ok;
        expect({ path, how, ok }).toEqual({ path, how, ok: false });
      }
    }
    expect(await verified(head)).toMatchObject({ problems: [] });
  });
});

describe("a store that is replaced", () => {
  it("an older copy of everything is found by the kept head, and by --expect", async () => {
    const copy = join(project.base, "copy");
    mkdirSync(copy);
    cpSync(project.home, join(copy, "store"), { recursive: true });
    const workspace = await project.open();
    project.write("text", "after the copy");
    await workspace.snapshot();
    const newer = JSON.stringify(await workspace.head());
    await workspace.close();
    const saved = join(project.base, "saved");
    cpSync(project.home, saved, { recursive: true });
    rmSync(project.home, { recursive: true });
    cpSync(join(copy, "store"), project.home, { recursive: true });
    const found = await verified(newer);
    expect(found).toMatchObject({ ok: false, problems: [{ kind: "log-truncated" }, { kind: "log-truncated" }] });
    rmSync(project.home, { recursive: true });
    cpSync(saved, project.home, { recursive: true });
    expect(await verified(newer)).toMatchObject({ problems: [] });
  });
});
