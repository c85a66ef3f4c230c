import packageJson from "../../package.json" with { type: "json" };
import { hookCommand } from "./hooking/hook-command.ts";
import { HookProcess } from "./hooking/hook-process.ts";

/**
 * What the installed hook runs where the long-lived process does not answer: `hook.cjs AGENT [--strict] [--direct]
 * [--store DIR] [--parent PID]`. Beside `chronicle hook` because it starts faster: no table of commands, no parser, one
 * file. The script that starts it has compiled code kept in the store's cache.
 */
async function main([agent = "", ...rest]: readonly string[]): Promise<number> {
  const at = rest.indexOf("--store");
  const strict = rest.includes("--strict");
  const parent = rest.includes("--parent") ? Number(rest[rest.indexOf("--parent") + 1]) : 0;
  const words = {
    agent,
    strict,
    store: at < 0 ? undefined : rest[at + 1],
    direct: rest.includes("--direct"),
    ...(parent > 0 ? { parent } : {}),
  };
  try {
    return await hookCommand(new HookProcess(packageJson.version), words);
  } catch (error) {
    process.stderr.write(`chronicle: ${error instanceof Error ? error.message : String(error)}\n`);
    // 2: the tool does not run. Anything else, and it does.
    return strict ? 2 : 1;
  }
}

// Nothing is left to be done: taking the engine down in good order would take a tenth of the hook's time.
void main(process.argv.slice(2)).then((code) => {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit(code);
});
