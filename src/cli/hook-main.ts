import packageJson from "../../package.json" with { type: "json" };
import { hookCommand } from "./hooking/hook-command.ts";
import { processIo } from "./process-io.ts";

/**
 * What the installed hook runs where the long-lived process does not answer: `hook.js AGENT [--strict] [--direct]
 * [--store DIR]`. Beside `chronicle hook` because it starts faster: no table of commands, no parser.
 */
const [agent = "", ...rest] = process.argv.slice(2);
const at = rest.indexOf("--store");
const strict = rest.includes("--strict");
const words = { agent, strict, store: at < 0 ? undefined : rest[at + 1], direct: rest.includes("--direct") };
try {
  process.exitCode = await hookCommand(processIo(packageJson.version), words);
} catch (error) {
  process.stderr.write(`chronicle: ${error instanceof Error ? error.message : String(error)}\n`);
  // 2: the tool does not run. Anything else, and it does.
  process.exitCode = strict ? 2 : 1;
}
