import { setFlagsFromString, startupSnapshot } from "node:v8";
import { constants, Script } from "node:vm";
import { NodeDisk } from "../disk/node-disk.ts";
import { hookEntryPath } from "../daemon/program-paths.ts";
import { readSmall } from "../daemon/run-folder.ts";

interface HookProgram {
  startImage(mark: string): void;
  markOfImage(): string;
}

type Loader = (name: string) => unknown;
type Wrapped = (exports: object, load: Loader, module: { exports: unknown }, filename: string) => void;

/**
 * The modules of Node that nearly every hook call uses. `node:sqlite` is missing, because an image cannot contain it.
 */
const USED = ["crypto", "os", "perf_hooks", "timers/promises", "zlib"];

/**
 * Builds the hook's image, a startup snapshot of Node. `node --snapshot-blob IMAGE --build-snapshot hook-image.cjs`
 * runs this function. The function loads `hook.cjs` and compiles all functions of the hook, because an image contains
 * only code that is already compiled.
 */
function makeImage(): void {
  for (const name of USED) process.getBuiltinModule(`node:${name}`);
  // Node loads the module of the global `performance` on first use. This call loads the module into the image.
  performance.now();
  const program = loadHook(hookEntryPath());
  const mark = program.markOfImage();
  startupSnapshot.setDeserializeMainFunction(() => program.startImage(mark));
}

function loadHook(entry: string): HookProgram {
  const source = `(function (exports, require, module, __filename) {${readSmall(new NodeDisk(), entry)}\n})`;
  setFlagsFromString("--no-lazy");
  const script = new Script(source, {
    filename: entry,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  setFlagsFromString("--lazy");
  const module = { exports: {} };
  const load: Loader = (name) => process.getBuiltinModule(name);
  (script.runInThisContext() as Wrapped)(module.exports, load, module, entry);
  return module.exports as HookProgram;
}

makeImage();
