import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { BuildOptions } from "esbuild";

const repo = dirname(dirname(import.meta.dirname));
let made: string | undefined;

/**
 * Makes the command line as it is installed: the launcher and a bundle of the present sources, in a temporary folder.
 * So no test depends on when `dist/` was last built. Returns the path of the launcher. It is made once per test file.
 */
export function chronicleBin(): string {
  made ??= buildPackage();
  return join(made, "bin", "chronicle.js");
}

function buildPackage(): string {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-package-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
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
  return folder;
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
