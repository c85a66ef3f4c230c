/**
 * A program that bundles the library into one file starts, records and undoes. A workspace closes at the end of its
 * block.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { describe, expect, it } from "vitest";
import { open } from "../../src/index.ts";
import { Sandbox } from "../cli/sandbox.ts";

const repo = dirname(dirname(import.meta.dirname));
const script: string = join(repo, "scripts/library-entry.js");
const { libraryEntry } = (await import(script)) as {
  libraryEntry: (library: string, names: readonly string[], neededMajor: number) => string;
};
const options: string = join(repo, "scripts/bundle-options.js");
const { BUNDLE_OPTIONS } = (await import(options)) as { BUNDLE_OPTIONS: BuildOptions };

const PROGRAM = `
import { openStore } from "@chronicle-dev/chronicle";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";

async function main() {
  const [, , base] = process.argv;
  mkdirSync(base + "/p");
  for (let i = 0; i < 40; i += 1) writeFileSync(base + "/p/file" + i, String(i).repeat(400_000));
  const store = await openStore({ home: base + "/s", configFolder: base + "/c" });
  const workspace = await store.open({ folder: base + "/p", create: true });
  const run = await workspace.run({ command: ["sh", "-c", "rm file*"] });
  await workspace.undo();
  const problems = (await workspace.verify()).problems.length;
  await store.close();
  console.log(run.changes.length, readdirSync(base + "/p").length, problems);
}
void main();
`;

/** Installs the package and a program beside it in a folder. */
async function install(folder: string): Promise<void> {
  const packed = join(folder, "node_modules/@chronicle-dev/chronicle");
  mkdirSync(join(packed, "dist"), { recursive: true });
  cpSync(join(repo, "package.json"), join(packed, "package.json"));
  symlinkSync(join(repo, "node_modules/@parcel"), join(folder, "node_modules/@parcel"));
  const { metafile } = await build({
    ...BUNDLE_OPTIONS,
    absWorkingDir: repo,
    entryPoints: { library: "src/index.ts" },
    outdir: join(packed, "dist"),
    chunkNames: "chunk-[hash]",
    metafile: true,
    logLevel: "error",
  });
  const library = Object.entries(metafile?.outputs ?? {}).find(([path]) => path.endsWith("/dist/library.js"));
  const names = library?.[1].exports ?? [];
  writeFileSync(join(packed, "dist/index.js"), libraryEntry("./library.js", names, 24));
  writeFileSync(join(folder, "program.js"), PROGRAM);
}

describe("a program that bundles the library", () => {
  it.each([
    ["esm", "mjs"],
    ["cjs", "cjs"],
  ] as const)("starts, records and undoes as %s", async (format, ending) => {
    using box = new Sandbox();
    await install(box.folder);
    const outfile = join(box.folder, `bundle.${ending}`);
    await build({
      absWorkingDir: box.folder,
      entryPoints: ["program.js"],
      outfile,
      bundle: true,
      format,
      platform: "node",
      external: ["@parcel/watcher"],
      logLevel: "error",
    });
    const ran = spawnSync(process.execPath, [outfile, box.project], { env: box.env(), encoding: "utf8" });
    expect([ran.stderr, ran.status, ran.stdout]).toEqual(["", 0, "40 40 0\n"]);
  });
});

it("a workspace is closed at the end of its block", async () => {
  using box = new Sandbox();
  const places = { home: box.store, configFolder: join(box.folder, "config"), folder: box.project, create: true };
  box.write("a", "1");
  let closed;
  {
    await using workspace = await open(places);
    await workspace.snapshot({});
    closed = workspace;
  }
  await expect(closed.snapshot({})).rejects.toThrow();
  expect(readdirSync(box.project)).toEqual(["a"]);
});
