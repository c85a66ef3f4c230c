import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { BuildOptions } from "esbuild";

const repo = dirname(dirname(import.meta.dirname));
let own: string | undefined;

/**
 * Makes the command line as it is installed: the launcher and a bundle of the present sources, in a temporary folder.
 * So no test depends on when `dist/` was last built. Returns the path of the launcher. Each test file has a copy of its
 * own, which it may change.
 */
export function chronicleBin(): string {
  own ??= copyOf(sharedPackage());
  return launcherIn(own);
}

/** Returns the launcher that all test files of a test run share. Tests must not change it, nor the files beside it. */
export function sharedChronicleBin(): string {
  return launcherIn(sharedPackage());
}

function launcherIn(folder: string): string {
  return join(folder, "bin", "chronicle.js");
}

function copyOf(made: string): string {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-package-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(made, folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

let shared: string | undefined;

/**
 * Returns the folder of the bundle of the present sources. The first test file of a test run that needs it makes it,
 * because the bundler takes seconds. The folder is named after the sources, so that a run that watches them bundles them
 * anew after a change.
 */
function sharedPackage(): string {
  shared ??= made(join(process.env["CHRONICLE_TEST_PACKAGES"] ?? ownPackages(), stateOfSources()));
  return shared;
}

function ownPackages(): string {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-packages-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a hash of the names, sizes and times of all files from which the bundle is made. */
function stateOfSources(): string {
  const hash = createHash("sha256");
  for (const top of ["src", "bin", "scripts", "package.json", "package-lock.json"]) {
    const isFolder = statSync(join(repo, top)).isDirectory();
    const names = isFolder ? readdirSync(join(repo, top), { recursive: true, encoding: "utf8" }).sort() : [""];
    for (const name of names) {
      const { size, mtimeMs } = statSync(join(repo, top, name));
      hash.update(`${top}/${name} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/** Makes the package in this folder, unless it is there. Another process may do the same at the same time. */
function made(folder: string): string {
  if (existsSync(folder)) return folder;
  const unfinished = mkdtempSync(`${folder}-`);
  buildPackage(unfinished);
  chmodSync(unfinished, 0o755);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  return folder;
}

function buildPackage(folder: string): void {
  const workers = readdirSync(join(repo, "src/workers")).filter((name) => name.endsWith("-worker.ts"));
  const entries = { cli: "src/cli/main.ts" } as Record<string, string>;
  for (const worker of workers) entries[basename(worker, ".ts")] = join("src/workers", worker);
  const given: BuildOptions = { outdir: join(folder, "dist"), logLevel: "error" };
  bundle(
    { ...given, entryPoints: entries },
    { ...given, entryPoints: { hook: "src/cli/hook-main.ts" } },
    { ...given, entryPoints: { "hook-image": "src/cli/hook-image-main.ts" } },
    { ...given, entryPoints: { ask: "src/cli/resident/ask-main.ts" } },
  );
  mkdirSync(join(folder, "bin"));
  for (const name of readdirSync(join(repo, "bin"))) cpSync(join(repo, "bin", name), join(folder, "bin", name));
  cpSync(join(repo, "package.json"), join(folder, "package.json"));
  symlinkSync(join(repo, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "README"), "a bundle for tests\n");
}

/** Runs the bundler in a process of its own, because its plugins cannot run while this process waits. */
function bundle(
  ...[options, hook, image, ask]: readonly [BuildOptions, BuildOptions, BuildOptions, BuildOptions]
): void {
  const code = `
    import { build } from "esbuild";
    import { ASK_OPTIONS, BUNDLE_OPTIONS, HOOK_IMAGE_OPTIONS, HOOK_OPTIONS } from "./scripts/bundle-options.js";
    await build({ ...BUNDLE_OPTIONS, ...${JSON.stringify(options)} });
    await build({ ...HOOK_OPTIONS, ...${JSON.stringify(hook)} });
    await build({ ...HOOK_IMAGE_OPTIONS, ...${JSON.stringify(image)} });
    await build({ ...ASK_OPTIONS, ...${JSON.stringify(ask)} });
  `;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: repo, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`the bundle has errors: ${ran.stderr}`);
}
