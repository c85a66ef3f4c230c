import { setFlagsFromString, startupSnapshot } from "node:v8";
import { constants, Script } from "node:vm";
import { NodeDisk } from "../disk/node-disk.ts";
import { hookEntryPath } from "../daemon/program-paths.ts";
import { readSmall } from "../daemon/run-folder.ts";

/** The exports of `hook.cjs`. */
interface HookProgram {
  startImage(mark: string): void;
  markOfImage(): string;
}

type Loader = (name: string) => unknown;
type Wrapped = (exports: object, load: Loader, module: { exports: unknown }, filename: string) => void;

/** Node's modules that nearly every hook uses, except `node:sqlite`, which an image cannot hold. */
const USED = ["crypto", "os", "perf_hooks", "timers/promises", "zlib"];

/**
 * Makes an image of the hook; run by `node --snapshot-blob IMAGE --build-snapshot hook-image.cjs`. Loads `hook.cjs`
 * with all its functions compiled, because an image keeps only code that is compiled by then.
 */
function makeImage(): void {
  for (const name of USED) process.getBuiltinModule(`node:${name}`);
  // This global loads its module when it is first used.
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
